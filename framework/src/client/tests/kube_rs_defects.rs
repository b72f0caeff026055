//! Defects that were found in kube-rs 4.2's client. The name of each test is the guarantee of this client.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};

use super::{
    log_recorder::LogRecorder,
    server::{OBJECT, Server, Site, answer, json},
};
use crate::client::{
    Api, Client, Config, Credentials, DeleteParams, ExecConfig, Impersonation, InteractiveMode,
    ListParams, PostParams, VersionMatch, WatchParams,
};

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

/// kube-rs did not send version 0 for a list with a page size, which is its default.
#[tokio::test]
async fn version_zero_is_sent_with_and_without_a_page_size() {
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

/// kube-rs sent the delete options of an eviction under a name that no server knows. So the server ignored them: no
/// grace period, no precondition.
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

/// In kube-rs, HTTP 410 at the opening of a watch led to the same watch again and again, and never to a list.
#[tokio::test]
async fn both_forms_of_an_expired_version_are_recognised() {
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

/// kube-rs read the UID and the extra values of an impersonation but did not send them, nor a User-Agent.
#[tokio::test]
async fn impersonation_sends_all_its_headers_and_the_user_agent() {
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

/// In kube-rs, building a client ran a credential plugin three times and blocked the thread.
#[tokio::test]
async fn a_credential_plugin_runs_once_per_client_and_delays_no_other() {
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
    // On the same thread. If the client blocked on the plugin, this would never happen.
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

/// In kube-rs, a line break at the end of a token file, as every editor writes it, made every request fail.
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

/// kube-rs logged a whole answer that did not decode, with the data of a Secret.
#[tokio::test]
async fn the_error_of_an_undecodable_answer_does_not_quote_it() {
    for (field, path) in [
        (
            "\"data\":{\"a\":\"aHVudGVyMg==\",\"other\":[\"hunter2\"]}",
            "data.other",
        ),
        ("\"data\":{\"other\":\"hunter2!\"}", "data.other"),
        ("\"immutable\":\"hunter2\"", "immutable"),
    ] {
        let (log, _listening) = LogRecorder::listen();
        let bad = format!("{{\"metadata\":{{\"name\":\"a\"}},{field}}}");
        let site = Site::new(move |_| json(200, bad.clone()));
        let server = Server::start(&site).await;
        let secrets = Api::<Secret>::namespaced(&Client::new(server.config()).unwrap(), "default");
        let error = secrets.get("a").await.unwrap_err();
        log.add(format_args!("{error} {error:?}"));
        let (said, text) = (log.said(), error.to_string());
        assert!(
            text.contains("get Secret default/a") && text.contains(path),
            "{text}"
        );
        for secret in ["hunter2", "aHVudGVyMg"] {
            assert!(!said.contains(secret), "{said}");
        }
    }
}

/// kube-rs put a name into the path unchanged.
#[tokio::test]
async fn a_name_cannot_change_the_meaning_of_the_path() {
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
    // The answer is about another object.
    maps.get("a?b#c d").await.unwrap_err();
    let uri = "/api/v1/namespaces/default/configmaps/a%3Fb%23c%20d";
    assert!(site.seen()[0].uri.ends_with(uri), "{}", site.seen()[0].uri);
}

/// kube-rs sent a POST four times after a 504, although the server may have applied it.
#[tokio::test]
async fn a_write_that_may_have_been_applied_is_not_repeated() {
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
