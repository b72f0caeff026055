//! Bursts of events, which are decoded on the decode thread.

use std::{
    convert::Infallible,
    str::FromStr,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::server::{Answer, Site, in_memory, json};
use crate::{
    client::{
        Api, Body, Client, Config, Decoder, Encoding, ListParams, WatchEvent, WatchParams,
        WatchStream, decode::decode_event, rest::Call,
    },
    resource::{ApiResource, Object},
};

const EVENTS: usize = 1000;
const BAD: usize = 700;

fn object(number: usize) -> String {
    let value = match number {
        BAD => "[]".to_owned(),
        // Long and short values, so that some batches are decoded at once and others are not.
        _ => format!("\"{}\"", "x".repeat(number % 7 * 1000)),
    };
    format!(
        "{{\"metadata\":{{\"name\":\"o\",\"resourceVersion\":\"{number}\"}},\"data\":{{\"k\":{value}}}}}"
    )
}

/// All events, then the server's error, then events that must not be read, in pieces of this size.
fn burst(piece: usize) -> Answer {
    let mut all: String = (0..EVENTS)
        .map(|number| format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", object(number)))
        .collect();
    all += "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410}}\n";
    all += "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"late\"}}}\n";
    let pieces: Vec<_> = all
        .as_bytes()
        .chunks(piece)
        .map(Bytes::copy_from_slice)
        .collect();
    let pieces = stream::iter(pieces).map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    Response::new(StreamBody::new(pieces).boxed_unsync())
}

fn maps(site: &Site) -> Api<ConfigMap> {
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(in_memory(site));
    Api::namespaced(&client.build().unwrap(), "default")
}

async fn all_of_a_burst() {
    for piece in [700, 60_000, 10_000_000] {
        let site = Site::new(move |_| Some(burst(piece)));
        let mut events = maps(&site).watch(&WatchParams::default()).await.unwrap();
        for number in 0..EVENTS {
            let version = match events.next().await.unwrap().unwrap() {
                WatchEvent::Modified(object) if number != BAD => {
                    object.resource_version().map(str::to_owned)
                }
                WatchEvent::Undecodable { object, .. } if number == BAD => object.resource_version,
                other => panic!("{number}: {other:?}"),
            };
            assert_eq!(version, Some(number.to_string()));
        }
        let end = events.next().await.unwrap();
        assert!(
            matches!(&end, Err(error) if error.status().is_some_and(|status| status.code == 410)),
            "{end:?}"
        );
        assert!(events.next().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_keeps_its_order_and_ends_with_its_error() {
    all_of_a_burst().await;
}

#[tokio::test]
async fn a_burst_keeps_its_order_on_a_runtime_with_one_thread() {
    all_of_a_burst().await;
}

/// Decodes anything, and counts how often.
struct Counted(Value);

static READ: AtomicUsize = AtomicUsize::new(0);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        READ.fetch_add(1, Ordering::Relaxed);
        Value::deserialize(deserializer).map(Self)
    }
}

/// A frame that does not fit its index would be decoded a second time, in another way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_of_a_burst_is_decoded_once_with_its_own_index() {
    let resource = ApiResource::of::<ConfigMap>();
    let call = Call {
        verb: "watch",
        resource: &resource,
        namespace: None,
        name: None,
        subresource: None,
        metadata_only: false,
        all_fields: false,
    };
    let body = Body::new(burst(10_000_000).into_body());
    let mut events = WatchStream::<Counted>::of_response(
        &call,
        (Encoding::Json, http::Response::new(body)),
        true,
        Decoder::default(),
        Box::new(decode_event),
        // The frames name no namespace.
        |_| None,
    );
    for number in 0..EVENTS {
        let Some(Ok(WatchEvent::Modified(Counted(object)))) = events.next().await else {
            panic!("{number} is missing");
        };
        assert_eq!(
            object.to_string(),
            Value::from_str(&self::object(number)).unwrap().to_string()
        );
    }
    // The event after the error was decoded ahead.
    assert_eq!(READ.load(Ordering::Relaxed), EVENTS + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_list_is_complete() {
    let items: Vec<_> = (0..EVENTS).map(object).collect();
    let list = format!(
        "{{\"kind\":\"ConfigMapList\",\"metadata\":{{}},\"items\":[{}]}}",
        items.join(",")
    );
    let site = Site::new(move |_| json(200, &list));
    let list = maps(&site).list(&ListParams::default()).await.unwrap();
    assert_eq!((list.items.len(), list.undecodable.len()), (EVENTS - 1, 1));
    assert!(
        list.items.is_sorted_by_key(|item| item
            .resource_version()
            .unwrap()
            .parse::<u32>()
            .unwrap())
    );
}
