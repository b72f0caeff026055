//! Defects that kube-rs 4.2 was found to have in its client. Each test is named after what is
//! guaranteed here instead.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};

use super::{
    everything::Everything,
    server::{OBJECT, Server, Site, answer, json},
};
use crate::client::{
    Api, Client, Config, Credentials, DeleteParams, ExecConfig, Impersonation, InteractiveMode,
    ListParams, PostParams, VersionMatch, WatchParams,
};

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

/// There, a list that may be of any age was not asked for once it had a page size, which it has by
/// default.
#[tokio::test]
async fn a_list_of_any_age_is_asked_for_whatever_its_page_size() {
    let site = Site::new(|_| json(200, "{\"items\":[]}"));
    let server = Server::start(&site).await;
    let maps = maps(server.config());
    let any = || ListParams {
        resource_version: Some("0".into()),
        ..ListParams::default()
    };
    maps.list(&any().limit(500)).await.unwrap();
    maps.list(&ListParams {
        resource_version_match: Some(VersionMatch::NotOlderThan),
        ..any()
    })
    .await
    .unwrap();
    let seen = site.seen();
    let query = |at: usize| seen[at].uri.split_once('?').unwrap().1.to_owned();
    assert!(query(0).contains("resourceVersion=0") && query(0).contains("limit=500"));
    assert!(query(1).contains("resourceVersionMatch=NotOlderThan"));
}

/// There, the delete options of an eviction stood under a name that no server knows, and so counted
/// for nothing: no grace period, no precondition.
#[tokio::test]
async fn the_delete_options_of_an_eviction_reach_the_server() {
    let site = Site::new(|_| {
        json(
            201,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}",
        )
    });
    let server = Server::start(&site).await;
    let pods = Api::<Pod>::namespaced(&Client::new(server.config()).unwrap(), "default");
    let params = DeleteParams::default().grace_period(Duration::from_secs(7));
    pods.evict("web-0", &params).await.unwrap();
    let seen = &site.seen()[0];
    assert!(seen.uri.ends_with("/pods/web-0/eviction"), "{}", seen.uri);
    let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(body["kind"], "Eviction");
    assert_eq!(body["metadata"]["name"], "web-0");
    assert_eq!(body["deleteOptions"]["gracePeriodSeconds"], 7);
}

/// There, HTTP 410 at the opening of a watch led to the same watch again and again, and never to a
/// list.
#[tokio::test]
async fn a_version_that_is_gone_is_told_as_expired_however_the_server_says_it() {
    let event = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}}\n";
    for (code, content_type, body) in [
        (410, "text/plain", "gone"),
        (
            410,
            "application/json",
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Gone\",\"code\":410}",
        ),
        (
            410,
            "application/json",
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}",
        ),
        (200, "application/json", event),
    ] {
        let site = Site::new(move |_| answer(code, content_type, body));
        let server = Server::start(&site).await;
        let params = WatchParams {
            resource_version: Some("1".into()),
            ..WatchParams::default()
        };
        let error = match maps(server.config()).watch(&params).await {
            Err(error) => error,
            Ok(mut watch) => watch.next().await.unwrap().unwrap_err(),
        };
        assert!(error.is_expired(), "{code} {body}: {error:?}");
        assert_eq!(site.seen().len(), 1);
    }
}

/// There, the UID and the extra values to act with were read and never sent, and no User-Agent was.
#[tokio::test]
async fn somebody_else_is_acted_as_in_full_and_the_program_says_its_name() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let jane = Impersonation::new("jane")
        .uid("7")
        .group("sailors")
        .extra("scopes", ["deck", "hold"]);
    let config = server.config().with_impersonation(jane);
    let client = Client::builder(config).user_agent("website/1.2.0");
    let maps = Api::<ConfigMap>::namespaced(&client.build().unwrap(), "default");
    maps.get("a").await.unwrap();
    let seen = &site.seen()[0];
    assert_eq!(seen.header("impersonate-user"), "jane");
    assert_eq!(seen.header("impersonate-uid"), "7");
    assert_eq!(seen.header("impersonate-group"), "sailors");
    let scopes = seen.headers.get_all("impersonate-extra-scopes").iter();
    assert_eq!(scopes.collect::<Vec<_>>(), ["deck", "hold"]);
    assert!(seen.header("user-agent").starts_with("website/1.2.0 ("));
}

/// There, a credential plugin ran three times when a client was built, and the thread waited for it.
#[tokio::test]
async fn a_credential_plugin_runs_once_per_client_and_nobody_else_waits_for_it() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd '{}'; echo run >> runs; while [ ! -e go ]; do sleep 0.01; done; printf '%s' '{}'",
        folder.path().display(),
        r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}"#
    );
    let exec = ExecConfig::new("sh")
        .args(["-c", &script])
        .interactive_mode(InteractiveMode::Never)
        .timeout(Duration::from_secs(60));
    let config = server.config().with_credentials(Credentials::Exec(exec));
    let maps = maps(config);
    let requests = join_all((0..10).map(|_| maps.get("a")));
    // On the same thread: were it to wait for the plugin, this would never come.
    let elsewhere = async {
        while !folder.path().join("runs").exists() {
            tokio::task::yield_now().await;
        }
        std::fs::write(folder.path().join("go"), "").unwrap();
    };
    let (answers, ()) = futures_util::join!(requests, elsewhere);
    assert!(answers.iter().all(Result::is_ok), "{:?}", answers[0]);
    let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap();
    assert_eq!(runs, "run\n");
}

/// There, a line break at the end of a token file, as every editor writes it, made every request fail.
#[tokio::test]
async fn a_line_break_at_the_end_of_a_token_file_does_not_matter() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "\u{20}t\r\n\n").unwrap();
    maps(server.config().with_token_file(&file))
        .get("a")
        .await
        .unwrap();
    assert_eq!(site.seen()[0].header("authorization"), "Bearer t");
}

/// There, an answer that did not decode was logged whole, with the data of a Secret.
#[tokio::test]
async fn an_answer_that_does_not_decode_is_told_without_its_content() {
    for (field, path) in [
        (
            "\"data\":{\"a\":\"aHVudGVyMg==\",\"other\":[\"hunter2\"]}",
            "data.other",
        ),
        ("\"data\":{\"other\":\"hunter2!\"}", "data.other"),
        ("\"immutable\":\"hunter2\"", "immutable"),
    ] {
        let (everything, _listening) = Everything::listen();
        let bad = format!("{{\"metadata\":{{\"name\":\"a\"}},{field}}}");
        let site = Site::new(move |_| json(200, bad.clone()));
        let server = Server::start(&site).await;
        let secrets = Api::<Secret>::namespaced(&Client::new(server.config()).unwrap(), "default");
        let error = secrets.get("a").await.unwrap_err();
        everything.add(format_args!("{error} {error:?}"));
        let (said, text) = (everything.said(), error.to_string());
        assert!(
            text.contains("get Secret default/a") && text.contains(path),
            "{text}"
        );
        for secret in ["hunter2", "aHVudGVyMg"] {
            assert!(!said.contains(secret), "{said}");
        }
    }
}

/// There, a name went into the path as it was.
#[tokio::test]
async fn a_name_cannot_leave_its_place_in_the_path() {
    let site = Site::new(|_| json(200, OBJECT));
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    for name in ["..", ".", "", "a/../../b", "a%2Fb"] {
        let error = maps.get(name).await.unwrap_err().to_string();
        assert!(error.contains("the name must not"), "{name}: {error}");
    }
    let elsewhere = Api::<ConfigMap>::namespaced(&client, "a/../b");
    elsewhere.get("a").await.unwrap_err();
    assert_eq!(site.seen().len(), 0);
    maps.get("a?b#c d").await.unwrap();
    let uri = "/api/v1/namespaces/default/configmaps/a%3Fb%23c%20d";
    assert!(site.seen()[0].uri.ends_with(uri), "{}", site.seen()[0].uri);
}

/// There, a POST that was answered with 504 was sent four times, though it may have been done.
#[tokio::test]
async fn a_write_that_may_have_been_done_is_not_sent_again() {
    for code in [500, 502, 503, 504] {
        let site = Site::new(move |_| {
            let mut answer = json(code, "{}")?;
            answer
                .headers_mut()
                .insert("retry-after", "0".parse().unwrap());
            Some(answer)
        });
        let server = Server::start(&site).await;
        let maps = maps(server.config());
        let (params, map) = (PostParams::default(), ConfigMap::default());
        maps.create(&params, &map).await.unwrap_err();
        assert_eq!(site.seen().len(), 1, "{code}");
    }
}
