//! Watches that end, stay silent, flood, or make no sense.

use serde_json::{Value, json};

use crate::{
    program::widget,
    row::{Health, Row},
    server::act::{
        Act, Step, bookmark, bytes, end_of_state, event, line, pause, repeat, status, trickled,
    },
};

/// Returns a row in which `answer` answers plain watches of widgets.
fn watches(
    answer: impl Fn(&crate::server::Server, &crate::server::Asked) -> Act + Send + Sync + 'static,
) -> Row {
    Row::after_sync().server(move |server, asked| {
        (asked.is_of_widgets() && asked.is_plain_watch()).then(|| answer(server, asked))
    })
}

/// Returns a row in which `answer` answers streamed lists of widgets.
fn streams(
    answer: impl Fn(&crate::server::Server, &crate::server::Asked) -> Act + Send + Sync + 'static,
) -> Row {
    Row::from_the_start().server(move |server, asked| {
        (asked.is_of_widgets() && asked.is_streamed_list()).then(|| answer(server, asked))
    })
}

/// Returns a widget that a hostile server reports.
fn told(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "test.pilothouse.dev/v1", "kind": "Widget", "spec": {"size": 7},
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": version},
    })
}

/// Returns a watch with one `ERROR` event.
fn error(code: u16, reason: &str) -> Act {
    Act::steps(vec![event("ERROR", &status(code, reason))])
}

rows! {
    a_watch_that_ends_after_one_bookmark =>
        watches(|_, asked| Act::steps(vec![bookmark(&asked.version().to_string())]))
            .reports(Health::Trouble("widgets"));
    a_watch_that_ends_after_a_bookmark_each_second =>
        watches(|_, asked| Act::steps(vec![pause(1100), bookmark(&asked.version().to_string())]))
            .reports(Health::Trouble("widgets"));
    a_watch_that_ends_after_each_event =>
        watches(|server, _| {
            let changed = server.change(|world| world.put("widgets", ("default", "same"), widget(5)));
            Act::steps(vec![event("MODIFIED", &changed)])
        })
        .requests(120).forgets();
    a_watch_that_ends_at_once =>
        watches(|_, _| Act::steps(vec![]));
    a_watch_that_never_sends =>
        watches(|_, _| Act::steps(vec![Step::Forever])).requests(4).reports(Health::Silent).recovers(160);
    a_watch_that_is_never_answered =>
        watches(|_, _| Act::Silence)
            .requests(4).reports(Health::Silent).recovers(160);
    a_watch_with_endless_bookmarks =>
        watches(|server, asked| {
            let (server, version) = (server.clone(), asked.version().to_string());
            Act::steps(repeat(vec![], 10, move |_| {
                server.is_hostile().then(|| bookmark(&version))
            }))
        })
        .requests(12).megabytes(4).lines(8).reports(Health::Anything);
    a_watch_with_endless_empty_lines =>
        watches(|server, _| {
            let server = server.clone();
            Act::steps(repeat(vec![], 10, move |_| server.is_hostile().then(|| bytes("\n \n\r\n"))))
        })
        .requests(4).lines(0).reports(Health::Silent);
    a_watch_that_repeats_one_event_endlessly =>
        watches(|server, _| {
            let same = server.read(|world| world.get("widgets", ("default", "same")).cloned());
            let (server, same) = (server.clone(), same.unwrap());
            Act::steps(repeat(vec![], 10, move |_| {
                server.is_hostile().then(|| event("MODIFIED", &same))
            }))
        })
        .requests(60).megabytes(4).lines(8).reports(Health::Anything);
    a_watch_whose_events_come_byte_by_byte =>
        watches(|server, asked| {
            let changes = server.read(|world| world.since("widgets", None, asked.version()));
            let events = changes.iter().map(|change| event(change.kind, &change.object));
            let text = events.flat_map(|step| match step {
                Step::Bytes(bytes) => bytes.to_vec(),
                _ => vec![],
            });
            let mut steps = trickled(text.collect::<Vec<u8>>());
            steps.push(pause(5000));
            Act::steps(steps)
        })
        .reports(Health::Fresh);
    a_watch_whose_last_event_is_cut_off =>
        watches(|_, _| Act::steps(vec![bytes(r#"{"type":"ADDED","object":{"metadata":{"na"#)]));
    a_watch_that_is_aborted_within_an_event =>
        watches(|_, _| Act::steps(vec![bytes(r#"{"type":"ADDED","object":{"metadata":{"na"#), pause(10), Step::Abort]));
    a_watch_that_is_aborted_within_an_event_after_two_seconds =>
        watches(|_, _| Act::steps(vec![bytes(r#"{"type":"ADDED","object":{"metadata":{"na"#), pause(2000), Step::Abort]))
            .reports(Health::Trouble("widgets"));
    a_watch_that_stalls_within_an_event =>
        watches(|_, _| Act::steps(vec![bytes(r#"{"type":"ADDED","object":{"metadata":{"na"#), Step::Forever]))
            .requests(4).reports(Health::Silent).recovers(160);
    a_watch_that_is_not_json =>
        watches(|_, _| Act::steps(vec![line("<html>go away</html>"), pause(5000)]));
    a_watch_that_returns_an_html_page =>
        watches(|_, _| Act::text(200, "text/html", "<html>Sign in to the network</html>"));
    a_watch_that_returns_a_status =>
        watches(|_, _| Act::status(200, "InternalError"));
    a_watch_with_an_unknown_event_type =>
        watches(|_, _| Act::steps(vec![event("RENAMED", &told("same", "999")), pause(5000)]));
    a_watch_with_events_that_have_no_type =>
        watches(|_, _| Act::steps(vec![line(r#"{"object":{"metadata":{"name":"a"}}}"#), pause(5000)]));
    a_watch_with_events_that_have_no_object =>
        watches(|_, _| Act::steps(vec![line(r#"{"type":"ADDED"}"#), pause(5000)]));
    a_watch_with_events_whose_object_is_null =>
        watches(|_, _| Act::steps(vec![line(r#"{"type":"ADDED","object":null}"#), pause(5000)])).lines(8).reports(Health::Anything);
    a_watch_whose_bookmark_has_no_version =>
        watches(|_, _| Act::steps(vec![line(r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#), pause(5000)]));
    an_error_event_with_an_expired_version =>
        watches(|_, _| error(410, "Expired"));
    an_error_event_with_an_internal_error =>
        watches(|_, _| error(500, "InternalError"));
    an_error_event_with_too_many_requests =>
        watches(|_, _| error(429, "TooManyRequests"));
    an_error_event_with_retry_after_of_a_day =>
        watches(|_, _| {
            let mut told = status(503, "ServiceUnavailable");
            told["details"] = json!({"retryAfterSeconds": 86400});
            Act::steps(vec![event("ERROR", &told)])
        })
        .recovers(130);
    an_error_event_with_a_negative_retry_after =>
        watches(|_, _| {
            let mut told = status(503, "ServiceUnavailable");
            told["details"] = json!({"retryAfterSeconds": -5});
            Act::steps(vec![event("ERROR", &told)])
        });
    error_events_with_every_code =>
        watches(|_, asked| {
            let codes = [400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504, 0, 65535];
            error(codes[asked.number % codes.len()], "Whatever")
        })
        .lines(30);
    an_error_event_without_an_object =>
        watches(|_, _| Act::steps(vec![line(r#"{"type":"ERROR"}"#)]));
    an_error_event_whose_object_is_null =>
        watches(|_, _| Act::steps(vec![line(r#"{"type":"ERROR","object":null}"#)]));
    an_error_event_whose_object_is_a_widget =>
        watches(|_, _| Act::steps(vec![event("ERROR", &told("same", "999"))]));
    a_watch_that_expires_at_each_opening =>
        watches(|_, _| Act::status(410, "Expired"));
    a_change_of_an_object_that_was_never_added =>
        watches(|server, _| {
            let version = server.read(|world| world.version()) + 1;
            Act::steps(vec![event("MODIFIED", &told("phantom", &version.to_string())), Step::Forever])
        })
        .requests(4).recovers(160).forgets().reports(Health::Silent);
    a_deletion_of_an_object_that_was_never_added =>
        watches(|server, _| {
            let version = server.version();
            Act::steps(vec![event("DELETED", &told("phantom", &version)), Step::Forever])
        })
        .requests(4).recovers(160).reports(Health::Silent);
    objects_of_another_namespace_and_kind_in_a_watch =>
        watches(|server, _| {
            let version = server.version();
            let mut other = told("phantom", &version);
            other["metadata"]["namespace"] = json!("other");
            let secret = json!({
                "apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="},
                "metadata": {"name": "secret", "namespace": "default", "uid": "s", "resourceVersion": version},
            });
            Act::steps(vec![event("ADDED", &other), event("ADDED", &secret), Step::Forever])
        })
        .requests(4).recovers(160).forgets().reports(Health::Silent);
    a_streamed_list_that_repeats_one_object_endlessly =>
        streams(|server, _| {
            let server = server.clone();
            Act::steps(repeat(vec![], 10, move |_| {
                server.is_hostile().then(|| event("ADDED", &told("same", "3")))
            }))
        })
        .megabytes(4).forgets();
    a_streamed_list_that_repeats_one_object_in_new_versions =>
        streams(|server, _| {
            let server = server.clone();
            Act::steps(repeat(vec![], 10, move |number| {
                server.is_hostile().then(|| event("ADDED", &told("same", &(number + 10).to_string())))
            }))
        })
        .megabytes(4).forgets();
    a_streamed_list_without_an_end_bookmark =>
        streams(|server, _| {
            let objects = server.read(|world| world.list("widgets", None));
            let mut steps: Vec<Step> = objects.iter().map(|object| event("ADDED", object)).collect();
            steps.push(Step::Forever);
            Act::steps(steps)
        })
        .reports(Health::Fresh);
    a_streamed_list_with_only_bookmarks =>
        streams(|server, _| {
            let server = server.clone();
            Act::steps(repeat(vec![], 10, move |_| server.is_hostile().then(|| bookmark("3"))))
        })
        .megabytes(4).reports(Health::Fresh);
    a_streamed_list_with_the_end_bookmark_before_its_objects =>
        streams(|server, _| {
            let objects = server.read(|world| world.list("widgets", None));
            let mut steps = vec![end_of_state(&server.version())];
            steps.extend(objects.iter().map(|object| event("ADDED", object)));
            steps.push(pause(30_000));
            Act::steps(steps)
        })
        .reports(Health::Anything);
    a_streamed_list_that_breaks_off_each_time =>
        streams(|server, _| {
            let objects = server.read(|world| world.list("widgets", None));
            Act::steps(vec![event("ADDED", &objects[0]), pause(100), Step::Abort])
        })
        .reports(Health::Fresh);
}
