//! Objects that are broken or have an unexpected form.

use serde_json::{Value, json};

use crate::{
    row::{Health, Row},
    server::{
        Server,
        act::{Act, Step, event, line},
    },
};

/// Returns a row in which a plain watch sends the server's objects and then these lines.
fn lines(make: impl Fn(&Server) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Row {
    Row::after_sync().server(move |server, asked| {
        if !asked.is_of_widgets() || !asked.is_plain_watch() {
            return None;
        }
        let changes = server.read(|world| world.since("widgets", None, asked.version()));
        let mut steps: Vec<Step> = changes
            .iter()
            .map(|change| event(change.kind, &change.object))
            .collect();
        steps.extend(make(server).into_iter().map(line));
        steps.push(crate::server::act::pause(15_000));
        Some(Act::steps(steps))
    })
}

/// Returns a row in which each list also contains this object, given as text.
fn in_lists(make: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Row {
    Row::from_the_start().server(move |server, asked| {
        if !asked.is_of_widgets() || !asked.is_any_list() {
            return None;
        }
        if !asked.is_list() {
            return Some(Act::status(422, "Invalid"));
        }
        let mut body = server
            .read(|world| world.list_body("widgets", None))
            .to_string()
            .into_bytes();
        let at = body
            .windows(10)
            .position(|bytes| bytes == b"\"items\":[{")
            .unwrap()
            + 9;
        let mut object = make();
        object.push(b',');
        body.splice(at..at, object);
        Some(Act::text(200, "application/json", body))
    })
}

/// Returns the text of a widget with additional content.
fn odd(more: &str) -> Vec<u8> {
    let head = r#"{"apiVersion":"test.pilothouse.dev/v1","kind":"Widget","metadata":{"name":"odd","namespace":"default","uid":"odd","resourceVersion":"2"},"#;
    format!("{head}{more}}}").into_bytes()
}

/// Returns an object as the lines of a watch event.
fn odd_event(server: &Server, object: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(object).into_owned();
    let version = format!("\"resourceVersion\":\"{}\"", server.version());
    let text = text.replace("\"resourceVersion\":\"2\"", &version);
    vec![[br#"{"type":"ADDED","object":"#, text.as_bytes(), b"}"].concat()]
}

fn nested(depth: usize) -> String {
    format!(
        r#""spec":{{"size":7,"deep":{}{}}}"#,
        "[".repeat(depth),
        "]".repeat(depth)
    )
}

fn nested_maps(depth: usize) -> String {
    format!(
        r#""spec":{{"size":7,"deep":{}1{}}}"#,
        r#"{"a":"#.repeat(depth),
        "}".repeat(depth)
    )
}

fn named(change: impl Fn(&mut Value)) -> Vec<u8> {
    let mut object: Value = serde_json::from_slice(&odd(r#""spec":{"size":7}"#)).unwrap();
    change(&mut object["metadata"]);
    object.to_string().into_bytes()
}

rows! {
    an_object_130_deep_in_a_list =>
        in_lists(|| odd(&nested(130))).forgets().reports(Health::Delivered);
    an_object_9000_deep_in_a_list =>
        in_lists(|| odd(&nested(9_000))).forgets().reports(Health::Delivered).megabytes(2);
    an_object_with_maps_9000_deep_in_a_list =>
        in_lists(|| odd(&nested_maps(9_000))).forgets().reports(Health::Delivered).megabytes(4);
    an_object_130_deep_in_a_watch =>
        lines(|server| odd_event(server, &odd(&nested(130)))).forgets().reports(Health::Delivered);
    an_object_9000_deep_in_a_watch =>
        lines(|server| odd_event(server, &odd(&nested(9_000)))).forgets().reports(Health::Delivered);
    an_object_with_maps_9000_deep_in_a_watch =>
        lines(|server| odd_event(server, &odd(&nested_maps(9_000)))).forgets().reports(Health::Delivered);
    an_object_with_invalid_utf8 =>
        in_lists(|| {
            let mut object = odd(r#""spec":{"size":7,"text":"XX"}"#);
            let at = object.windows(2).position(|bytes| bytes == b"XX").unwrap();
            object[at] = 0xff;
            object
        })
        .forgets().reports(Health::NotReady("cannot be decoded"));
    an_object_with_invalid_utf8_in_its_name =>
        in_lists(|| {
            let mut object = odd(r#""spec":{"size":7}"#);
            let at = object.windows(5).position(|bytes| bytes == b"\"odd\"").unwrap();
            object[at + 1] = 0xff;
            object
        })
        .forgets().reports(Health::NotReady("cannot be decoded"));
    an_object_with_nul_in_its_name =>
        in_lists(|| named(|metadata| metadata["name"] = json!("o\0d"))).forgets().reports(Health::Delivered);
    an_object_with_a_raw_nul =>
        in_lists(|| odd("\"spec\":{\"size\":7,\"text\":\"a\0b\"}")).forgets().reports(Health::NotReady("cannot be decoded"));
    an_object_with_lone_surrogates =>
        in_lists(|| odd(r#""spec":{"size":7,"text":"\ud800 \udc00\ud800"}"#)).forgets().reports(Health::Delivered);
    an_object_with_duplicate_keys =>
        in_lists(|| odd(r#""spec":{"size":7,"size":8},"spec":{"size":9},"metadata":{"name":"other"}"#))
            .forgets().reports(Health::Delivered);
    an_object_with_numbers_that_overflow =>
        in_lists(|| odd(r#""spec":{"size":1e999,"more":-123456789012345678901234567890}"#))
            .forgets().reports(Health::Delivered);
    an_object_without_a_name =>
        in_lists(|| named(|metadata| { metadata.as_object_mut().unwrap().remove("name"); }))
            .reports(Health::Delivered).forgets();
    an_object_with_an_empty_name =>
        in_lists(|| named(|metadata| metadata["name"] = json!(""))).reports(Health::Delivered).forgets();
    an_object_whose_name_is_a_path =>
        in_lists(|| named(|metadata| metadata["name"] = json!("../../secrets/all?x=%2f#"))).reports(Health::Delivered).forgets();
    an_object_whose_name_is_a_megabyte_long =>
        in_lists(|| named(|metadata| metadata["name"] = json!("n".repeat(1 << 20))))
            .reports(Health::Delivered).forgets().megabytes(40);
    an_object_without_a_uid =>
        in_lists(|| named(|metadata| { metadata.as_object_mut().unwrap().remove("uid"); }))
            .reports(Health::Delivered).forgets();
    an_object_without_a_namespace =>
        in_lists(|| named(|metadata| { metadata.as_object_mut().unwrap().remove("namespace"); }))
            .reports(Health::Delivered).forgets();
    an_object_without_metadata =>
        in_lists(|| br#"{"spec":{"size":7}}"#.to_vec()).reports(Health::Delivered).forgets();
    an_object_that_is_being_deleted_forever =>
        in_lists(|| named(|metadata| {
            metadata["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
            metadata["finalizers"] = json!(["example.com/never"]);
        }))
        .reports(Health::Delivered).forgets();
    an_object_with_invalid_times =>
        in_lists(|| named(|metadata| metadata["creationTimestamp"] = json!("yesterday"))).reports(Health::Delivered).forgets();
    an_object_that_owns_itself =>
        in_lists(|| named(|metadata| metadata["ownerReferences"] = json!([{
            "apiVersion": "test.pilothouse.dev/v1", "kind": "Widget", "name": "odd", "uid": "odd", "controller": true,
        }])))
        .reports(Health::Delivered).forgets();
    an_object_with_a_hundred_thousand_labels =>
        in_lists(|| named(|metadata| {
            let labels = (0..100_000).map(|number| (format!("label-{number}"), json!("x")));
            metadata["labels"] = Value::Object(labels.collect());
        }))
        .reports(Health::Delivered).forgets().megabytes(60);
    a_bad_object_in_each_event_of_a_watch =>
        lines(|server| {
            let version: u64 = server.version().parse().unwrap();
            let event = |number: u64| {
                let object = json!({"metadata": {
                    "name": "bad", "namespace": "default", "uid": "bad", "resourceVersion": (version + number % 2).to_string(),
                }, "spec": {"size": "big"}});
                json!({"type": "MODIFIED", "object": object}).to_string().into_bytes()
            };
            (0..50).map(event).collect()
        })
        .forgets().lines(60).reports(Health::Anything);
}
