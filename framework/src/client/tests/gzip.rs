//! Compressed answers, over HTTPS.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;

use super::server::{Answer, Server, Site, endless, json};
use crate::client::{Api, Body, Client, Config, ErrorKind, ListParams, WatchParams};

fn list() -> String {
    let items: Vec<_> = (0..5000)
        .map(|number| format!("{{\"metadata\":{{\"name\":\"map-{number}\"}}}}"))
        .collect();
    format!(
        "{{\"kind\":\"ConfigMapList\",\"metadata\":{{\"resourceVersion\":\"7\"}},\"items\":[{}]}}",
        items.join(",")
    )
}

fn packed(text: &str) -> Option<Answer> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let body = Full::new(Bytes::from(encoder.finish().unwrap()));
    let answer = http::Response::builder()
        .header("content-type", "application/json")
        .header("content-encoding", "gzip");
    Some(answer.body(body.boxed_unsync()).unwrap())
}

fn site() -> Site {
    Site::new(|seen| match seen.header("accept-encoding") {
        "gzip" if seen.uri.contains("watch=true") => None,
        "gzip" => packed(&list()),
        _ if seen.uri.contains("watch=true") => endless(""),
        _ => json(200, list()),
    })
}

fn maps(config: Config) -> Api<ConfigMap> {
    Api::namespaced(&Client::new(config).unwrap(), "default")
}

#[tokio::test]
async fn long_answers_are_compressed_on_request_and_watches_never() {
    for http2 in [true, false] {
        let mut site = site();
        site.http2 = http2;
        let server = Server::start(&site).await;
        for (config, encoding) in [
            (server.config().with_compression(true), "gzip"),
            (server.config().with_compression(false), ""),
            // This server is on this machine.
            (server.config(), ""),
        ] {
            let maps = maps(config);
            let list = maps.list(&ListParams::default()).await.unwrap();
            assert_eq!(list.items.len(), 5000);
            assert_eq!(
                site.seen().last().unwrap().header("accept-encoding"),
                encoding
            );
            maps.watch(&WatchParams::default()).await.unwrap();
            assert_eq!(site.seen().last().unwrap().header("accept-encoding"), "");
        }
    }
}

#[tokio::test]
async fn a_request_with_its_own_accept_encoding_gets_the_raw_answer() {
    let server = Server::start(&site()).await;
    let client = Client::new(server.config().with_compression(true)).unwrap();
    let request = http::Request::get("/api/v1/configmaps").header("accept-encoding", "gzip");
    let answer = client
        .send(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body[..2], [0x1f, 0x8b]);
}

#[tokio::test]
async fn an_answer_that_is_not_gzip_is_an_error_that_says_so() {
    let site = Site::new(|_| {
        let mut answer = json(200, "{}").unwrap();
        let gzip = "gzip".parse().unwrap();
        answer.headers_mut().insert("content-encoding", gzip);
        Some(answer)
    });
    let server = Server::start(&site).await;
    let maps = maps(server.config().with_compression(true));
    let error = maps.get("a").await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Decode { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "get ConfigMap default/a: the answer cannot be decoded: its `Content-Encoding` is gzip, but its body is not gzip: check proxies on the way, or turn compression off (`disable-compression: true` of the cluster, `Config::with_compression`)"
    );
    assert_eq!(site.seen().len(), 1, "the same would come again");
}

#[test]
fn compression_is_requested_from_remote_servers_by_default() {
    for (url, asks) in [
        ("https://cluster.example:6443", true),
        ("https://10.0.0.1", true),
        ("https://localhost:6443", false),
        ("https://127.0.0.1:6443", false),
        ("https://[::1]:6443", false),
    ] {
        assert_eq!(
            Config::new(url.parse().unwrap()).compresses(),
            asks,
            "{url}"
        );
    }
}
