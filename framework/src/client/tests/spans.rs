//! The spans around encoding and decoding.

use futures_util::StreamExt;
use serde_json::json;

use super::{
    log_recorder::LogRecorder,
    verbs::{client, map, maps},
};
use crate::{
    client::{ListParams, PostParams, WatchParams},
    logged::logged,
    resource::Object,
};

#[tokio::test]
async fn encoding_and_decoding_are_in_spans_without_their_content() {
    let (client, _) = client(|_, line| match line {
        line if line.contains("watch=") => {
            let event = json!({"type": "ADDED", "object": map("1")});
            (200, format!("{event}\n").into())
        }
        line if line.starts_with("GET") => (
            200,
            json!({"metadata": {}, "items": [map("1")], "kind": "ConfigMapList", "apiVersion": "v1"}),
        ),
        _ => (201, map("1")),
    });
    let maps = maps(&client);
    let (log, _guard) = LogRecorder::listen();
    let named = k8s_openapi::api::core::v1::ConfigMap::named("a");
    maps.create(&PostParams::default(), &named).await.unwrap();
    maps.list(&ListParams::default()).await.unwrap();
    let mut events = maps.watch(&WatchParams::default()).await.unwrap();
    events.next().await.unwrap().unwrap();
    let said = log.said();
    let spans: Vec<_> = said
        .split("span ")
        .filter(|span| span.starts_with("encode") || span.starts_with("decode"))
        .map(|span| span.lines().take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        spans,
        [
            "encode encoding=application/json",
            "decode what=object",
            "decode what=object",
            "decode what=list",
            "decode what=event",
        ],
        "{said}"
    );
    assert!(said.contains("bytes="), "{said}");
}

#[tokio::test]
async fn the_spans_are_off_below_level_trace() {
    let (log, _guard) = logged(tracing::Level::DEBUG);
    let body = crate::client::codec::Encoded::json("7");
    let within = crate::client::decode::decode_object::<Loud>(&body, true);
    assert!(within.is_ok());
    let text = log.text();
    assert!(
        text.contains("decoding") && !text.contains("decode{"),
        "{text}"
    );
    let (log, _guard) = logged(tracing::Level::TRACE);
    assert!(crate::client::decode::decode_object::<Loud>(&body, true).is_ok());
    let text = log.text();
    assert!(
        text.contains("decode{what=\"object\" encoding=\"application/json\" bytes=1}"),
        "{text}"
    );
}

/// Logs while it is decoded.
struct Loud;

impl<'de> serde::Deserialize<'de> for Loud {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tracing::info!("decoding");
        u32::deserialize(deserializer).map(|_| Self)
    }
}
