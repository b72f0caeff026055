//! Checks that the client reads protobuf of built-in kinds as JSON, whatever the bytes are.
//!
//! The first byte selects the kind and the form: one object, a list, or the body of a watch. The input needs no envelope, except within the
//! frames of a watch.

use futures_util::StreamExt;
use pilothouse::{
    client::{Api, ListParams, WatchParams},
    k8s::{
        api::core::v1::{ConfigMap, Pod},
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    },
    resource::{ApiResource, DynamicObject, Resource},
};
use pilothouse_sandbox::internals::protobuf::{decode, encode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{protobuf::enveloped, watch::pieces};
use crate::{
    answers::{Answer, client, now},
    input,
};

pub(crate) fn run(data: &[u8]) {
    let (form, body) = input::choice(data);
    match form % 3 {
        0 => read::<Pod>(form / 3, body),
        1 => read::<ConfigMap>(form / 3, body),
        _ => read::<CustomResourceDefinition>(form / 3, body),
    }
}

fn read<K>(form: u8, body: &[u8])
where
    K: Resource + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let resource = ApiResource::of::<K>();
    match form % 3 {
        0 => object::<K>(&resource, body),
        1 => list(&resource, body),
        _ => watch(&resource, body),
    }
}

fn object<K>(resource: &ApiResource, inner: &[u8])
where
    K: DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let body = enveloped(&resource.api_version(), &resource.kind, inner);
    let found = value::<Value>(resource, &body);
    // What is written as Go writes it is read as the reference reads it.
    if let Ok(expected) = decode(&body, ("", ""), |object| object)
        && encode(&expected).as_ref() == Some(&body)
        && input::depth(expected.to_string().as_bytes()) <= input::DEEPEST
    {
        assert_eq!(found.as_ref(), Some(&expected), "what is written as by Go");
    }
    // A type gets the same from both encodings.
    if let Some(found) = found
        && input::depth(found.to_string().as_bytes()) <= input::DEEPEST
    {
        let expected = serde_json::from_str::<K>(&found.to_string()).ok();
        assert_eq!(value::<K>(resource, &body), expected);
    }
}

fn api(resource: &ApiResource, answer: Answer) -> Api<DynamicObject> {
    Api::of(&client(answer), resource.clone(), None).with_managed_fields()
}

fn value<T: DeserializeOwned>(resource: &ApiResource, body: &[u8]) -> Option<T> {
    let mut namespaced = resource.clone();
    namespaced.namespaced = false;
    now(api(&namespaced, Answer::protobuf(body)).get_subresource("a", "b")).ok()
}

/// Each item is there once, whatever the others are.
fn list(resource: &ApiResource, inner: &[u8]) {
    let kind = format!("{}List", resource.kind);
    let body = enveloped(&resource.api_version(), &kind, inner);
    let Some(whole) = value::<Value>(resource, &body) else {
        _ = now(api(resource, Answer::protobuf(&body)).list(&ListParams::default()));
        return;
    };
    let items = whole["items"].as_array().map_or(0, Vec::len);
    if let Ok(list) = now(api(resource, Answer::protobuf(&body)).list(&ListParams::default())) {
        assert_eq!(list.items.len() + list.undecodable.len(), items);
    }
}

/// The chunks of the transport make no difference.
fn watch(resource: &ApiResource, rest: &[u8]) {
    let (cuts, body) = rest.split_at(rest.len().min(4));
    let events = |pieces| {
        let answer = Answer {
            pieces,
            ..Answer::protobuf(&[])
        };
        let stream = now(api(resource, answer).watch(&WatchParams::default()));
        let stream = stream.expect("a watch that is answered");
        let text = |event: Result<_, pilothouse::client::Error>| event.map_err(|e| e.to_string());
        now(stream.map(text).collect::<Vec<_>>())
    };
    let whole = events(vec![bytes::Bytes::copy_from_slice(body)]);
    assert_eq!(whole, events(pieces(body, cuts)));
}
