use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::join_all};
use k8s_openapi::api::core::v1::ConfigMap;
use tower::ServiceExt;

use super::server::{OBJECT, Server, Site, answer, endless, json};
use crate::{
    client::{
        Api, Body, Client, Config, DeleteParams, ErrorKind, ListParams, ObjectList, Patch,
        PatchParams, PostParams, RequestService, WatchEvent, WatchParams,
    },
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object},
};

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

fn site() -> Site {
    Site::new(|_| json(200, OBJECT))
}

const BOOKMARK: &str =
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n";

fn http1(mut site: Site) -> Site {
    site.http2 = false;
    site
}

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    for site in [site(), http1(site())] {
        let server = Server::start(&site).await;
        let maps = maps(server.config().with_token("t0ken"));
        for _ in 0..3 {
            maps.get("a").await.unwrap();
        }
        maps.create(&PostParams::default(), &ConfigMap::default())
            .await
            .unwrap();
        let seen = site.seen();
        assert_eq!((seen.len(), site.connections()), (4, 1));
        assert!(
            seen[0]
                .uri
                .ends_with("/api/v1/namespaces/default/configmaps/a")
        );
        assert_eq!(seen[0].header("authorization"), "Bearer t0ken");
        assert_eq!(
            seen[0].header("accept"),
            "application/vnd.kubernetes.protobuf, application/json;q=0.9"
        );
        let agent = seen[0].header("user-agent");
        assert!(
            agent.starts_with("pilothouse-") && agent.contains(") pilothouse/"),
            "{agent}"
        );
        assert!(
            seen[3]
                .body
                .starts_with(b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"")
        );
    }
}

#[tokio::test]
async fn requests_at_the_same_time_share_an_http2_connection() {
    let site = site();
    let server = Server::start(&site).await;
    let maps = maps(server.config());
    let answers = join_all((0..50).map(|_| maps.get("a"))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(site.connections(), 1);
}

#[tokio::test]
async fn watches_never_wait_for_a_stream_and_never_meet_requests() {
    for http2 in [true, false] {
        let mut site = Site::new(|seen| {
            if seen.uri.contains("watch=true") {
                endless(BOOKMARK)
            } else {
                json(200, OBJECT)
            }
        });
        site.http2 = http2;
        site.most_streams = 3;
        let server = Server::start(&site).await;
        let maps = maps(server.config());
        let params = WatchParams::default();
        let watches = join_all((0..10).map(|_| maps.watch(&params))).await;
        let mut open = Vec::new();
        for watch in watches {
            let mut watch = watch.unwrap();
            let event = watch.next().await.unwrap().unwrap();
            assert!(
                matches!(event, WatchEvent::Bookmark { resource_version, .. } if resource_version == "7")
            );
            open.push(watch);
        }
        maps.get("a").await.unwrap();
        let seen = site.seen();
        let used_by_watches: Vec<_> = seen[..10].iter().map(|seen| seen.connection).collect();
        assert!(!used_by_watches.contains(&seen[10].connection));
        for connection in &used_by_watches {
            let streams = used_by_watches
                .iter()
                .filter(|used| *used == connection)
                .count();
            assert!(streams <= if site.http2 { 3 } else { 1 });
        }
    }
}

#[tokio::test]
async fn a_connection_that_ended_is_replaced_for_writes_too() {
    let mut site = http1(site());
    site.one_answer_each = true;
    let server = Server::start(&site).await;
    let maps = maps(server.config());
    for _ in 0..3 {
        maps.create(&PostParams::default(), &ConfigMap::default())
            .await
            .unwrap();
    }
    assert_eq!((site.seen().len(), site.connections()), (3, 3));
}

#[tokio::test]
async fn a_read_survives_a_broken_connection_and_a_write_is_not_repeated() {
    for http2 in [true, false] {
        let mut site = Site::new(|seen| {
            if seen.connection == 0 {
                None
            } else {
                json(200, OBJECT)
            }
        });
        site.http2 = http2;
        let server = Server::start(&site).await;
        maps(server.config()).get("a").await.unwrap();
        assert_eq!(site.seen().len(), 2);

        let mut site = Site::new(|_| None);
        site.http2 = http2;
        let server = Server::start(&site).await;
        let maps = maps(server.config());
        let error = maps
            .create(&PostParams::default(), &ConfigMap::default())
            .await
            .unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Transport(_)) && error.is_outcome_unknown(),
            "{error}"
        );
        assert_eq!(site.seen().len(), 1);
        let error = maps.get("a").await.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("get ConfigMap default/a: the connection to the API server broke: "),
            "{error}"
        );
        assert_eq!(site.seen().len(), 3);
    }
}

#[tokio::test]
async fn after_401_a_renewed_token_file_is_read_and_the_request_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "old\n").unwrap();
    let site = Site::new(|seen| match seen.header("authorization") {
        "Bearer new" => json(201, OBJECT),
        _ => json(
            401,
            r#"{"kind":"Status","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#,
        ),
    });
    let server = Server::start(&site).await;
    let maps = maps(server.config().with_token_file(&path));
    let error = maps.get("a").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "get ConfigMap default/a: Unauthorized: the token in {} (given by the program) is expired or not one of this server's: renew it",
            path.display()
        )
    );
    assert_eq!(site.seen().len(), 1);
    std::fs::write(&path, "new\n").unwrap();
    maps.create(&PostParams::default(), &ConfigMap::default())
        .await
        .unwrap();
    let seen = site.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[1].body, seen[2].body);
}

#[tokio::test]
async fn an_answer_that_is_not_from_an_api_server_is_shown_shortened() {
    let page = format!("<html>\n<h1>502 Bad Gateway</h1>{}", "<p>secret".repeat(99));
    let site = Site::new(move |_| answer(502, "text/html; charset=utf-8", page.clone()));
    let server = Server::start(&site).await;
    let text = maps(server.config())
        .get("a")
        .await
        .unwrap_err()
        .to_string();
    assert!(text.starts_with("get ConfigMap default/a: HTTP 502 with text/html instead of an API server's answer (\"<html> <h1>502 Bad Gateway</h1>"), "{text}");
    assert!(
        text.ends_with("…\"): check the cluster's `server`, and proxies on the way"),
        "{text}"
    );
    assert!(text.len() < 400);

    let site = Site::new(|_| answer(200, "text/html", "<html>hello"));
    let server = Server::start(&site).await;
    let text = maps(server.config())
        .get("a")
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        text,
        "get ConfigMap default/a: the answer cannot be decoded: it is text/html, not protobuf or JSON: check the cluster's `server`, and proxies on the way"
    );
}

#[tokio::test]
async fn the_path_of_the_servers_address_comes_first_and_attempts_are_counted() {
    let site = site();
    let server = Server::start(&site).await;
    let mut config = server.config();
    config.url = format!("https://{}/k8s/clusters/c-1/", server.address)
        .parse()
        .unwrap();
    let metrics = Metrics::new();
    let client = Client::builder(config)
        .metrics(metrics.clone())
        .user_agent("website/1.2.0");
    let client = client.build().unwrap();
    Api::<ConfigMap>::namespaced(&client, "default")
        .get("a")
        .await
        .unwrap();
    let seen = &site.seen()[0];
    assert!(
        seen.uri
            .ends_with("/k8s/clusters/c-1/api/v1/namespaces/default/configmaps/a")
    );
    assert!(seen.header("user-agent").starts_with("website/1.2.0 ("));
    let line = format!(
        "rest_client_requests_total{{code=\"200\",host=\"{}\",method=\"GET\"}} 1",
        server.address
    );
    assert!(metrics.encode().contains(&line));
}

#[tokio::test]
async fn a_watch_that_is_refused_is_an_error_before_any_event() {
    let site = Site::new(|_| {
        json(
            410,
            r#"{"kind":"Status","reason":"Expired","message":"too old resource version","code":410}"#,
        )
    });
    let server = Server::start(&site).await;
    let error = maps(server.config())
        .watch(&WatchParams::default())
        .await
        .unwrap_err();
    assert!(error.is_expired());
    assert_eq!(
        error.to_string(),
        "watch configmaps in default: expired: too old resource version"
    );
}

/// A page with these names, as the server answers it.
fn page(names: &[&str], version: &str, next: &str) -> String {
    let items: Vec<_> = names
        .iter()
        .map(|name| format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}"))
        .collect();
    format!(
        "{{\"kind\":\"ConfigMapList\",\"metadata\":{{\"resourceVersion\":\"{version}\",\"continue\":\"{next}\"}},\"items\":[{}]}}",
        items.join(",")
    )
}

#[tokio::test]
async fn a_long_list_comes_in_pages_and_whole_after_its_version_expired() {
    let site = Site::new(|seen| {
        let query = seen.uri.split_once('?').map_or("", |(_, query)| query);
        match query {
            "limit=500&resourceVersion=0" => json(200, page(&["a"], "7", "t%1")),
            "limit=500&continue=t%251" => json(200, page(&["b"], "8", "")),
            "limit=500" => json(200, page(&["a"], "7", "gone")),
            "limit=500&continue=gone" => json(410, "{\"reason\":\"Expired\",\"code\":410}"),
            "" => json(200, page(&["c", "d"], "9", "")),
            _ => json(400, "{}"),
        }
    });
    let server = Server::start(&site).await;
    let maps = maps(server.config());
    let names = |list: &ObjectList<ConfigMap>| -> Vec<String> {
        list.items.iter().map(|map| map.name().to_owned()).collect()
    };
    let list = maps.list_all(&ListParams::default().at("0")).await.unwrap();
    assert_eq!(
        (names(&list), list.resource_version()),
        (vec!["a".into(), "b".into()], Some("7"))
    );
    let list = maps.list_all(&ListParams::default()).await.unwrap();
    assert_eq!(
        (names(&list), list.resource_version()),
        (vec!["c".into(), "d".into()], Some("9"))
    );
}

#[tokio::test]
async fn each_verb_sends_the_method_and_path_of_the_api() {
    let site = Site::new(|seen| match seen.method {
        http::Method::DELETE => json(
            200,
            r#"{"apiVersion":"v1","kind":"Status","status":"Success"}"#,
        ),
        _ => json(200, OBJECT),
    });
    let server = Server::start(&site).await;
    let client = Client::new(server.config()).unwrap();
    let maps = Api::<DynamicObject>::of(&client, ApiResource::of::<ConfigMap>(), Some("default"));
    let body = serde_json::json!({"data": {"k": "v"}});
    let object = DynamicObject::new(maps.resource(), "a");
    let apply = PatchParams::apply("me").force();
    let plain = PatchParams::default();
    let post = PostParams::default().field_manager("me").dry_run();
    maps.patch("a", &apply, &Patch::Apply(body.clone()))
        .await
        .unwrap();
    maps.patch_status("a", &plain, &Patch::Merge(body.clone()))
        .await
        .unwrap();
    maps.patch("a", &plain, &Patch::Strategic(body.clone()))
        .await
        .unwrap();
    maps.patch("a", &plain, &Patch::Json(vec![])).await.unwrap();
    maps.replace("a", &post, &object).await.unwrap();
    maps.replace_status("a", &post, &object).await.unwrap();
    maps.delete("a", &DeleteParams::background()).await.unwrap();
    let some = ListParams::default().labels("app in (a,b)");
    maps.delete_collection(&DeleteParams::default(), &some)
        .await
        .unwrap();
    let watch = WatchParams::default()
        .after("7")
        .timeout(Duration::from_millis(1500));
    maps.watch(&watch).await.unwrap();
    let sent: Vec<_> = site
        .seen()
        .iter()
        .map(|seen| {
            let (_, path) = seen.uri.split_once("/configmaps").unwrap();
            let content_type = seen.header("content-type");
            format!("{} {path} {content_type}", seen.method)
                .trim_end()
                .to_owned()
        })
        .collect();
    assert_eq!(
        sent,
        [
            "PATCH /a?fieldManager=me&force=true application/apply-patch+yaml",
            "PATCH /a/status application/merge-patch+json",
            "PATCH /a application/strategic-merge-patch+json",
            "PATCH /a application/json-patch+json",
            "PUT /a?dryRun=All&fieldManager=me application/json",
            "PUT /a/status?dryRun=All&fieldManager=me application/json",
            "DELETE /a application/json",
            "DELETE ?labelSelector=app%20in%20%28a%2Cb%29",
            "GET ?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=2",
        ]
    );
    let unnamed = maps
        .patch("a", &plain, &Patch::Apply(body))
        .await
        .unwrap_err();
    assert_eq!(
        unnamed.to_string(),
        "patch ConfigMap default/a: a server-side apply needs a field manager: use `PatchParams::apply`"
    );
}

#[tokio::test]
async fn the_users_layers_see_each_request_once() {
    let site = Site::new(|seen| {
        if seen.connection == 0 {
            None
        } else {
            json(200, OBJECT)
        }
    });
    let server = Server::start(&site).await;
    let passed = Arc::new(AtomicUsize::new(0));
    let count = passed.clone();
    let client = Client::builder(server.config()).layer(tower::layer::layer_fn(
        move |inner: RequestService| {
            let count = count.clone();
            inner.map_request(move |request: http::Request<Body>| {
                count.fetch_add(1, Ordering::SeqCst);
                request
            })
        },
    ));
    let maps = Api::<ConfigMap>::namespaced(&client.build().unwrap(), "default");
    maps.get("a").await.unwrap();
    assert_eq!((passed.load(Ordering::SeqCst), site.seen().len()), (1, 2));
}
