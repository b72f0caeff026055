//! Wrong answers to writes.

use serde_json::{Value, json};

use crate::{
    row::{Health, Program, Row},
    server::{
        Asked, Server,
        act::{Act, Step},
    },
};

/// Returns a row in which an operator applies ConfigMaps, and `answer` answers the writes.
fn writes(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    Row::from_the_start()
        .program(Program::Applying)
        .server(move |server, asked| {
            let is_apply = asked.is_write() && asked.plural == "configmaps";
            is_apply.then(|| answer(server, asked))
        })
        // Three widgets, each with its own backoff.
        .requests(150)
        .lines(12)
        .reports(Health::Anything)
        .recovers(120)
}

/// Returns a row in which the server carries out the write and changes the answer.
fn answers_with(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Row {
    writes(move |server, asked| {
        let _done = server.honest(asked);
        let key = (asked.namespace(), asked.name());
        let mut object = server
            .read(|world| world.get("configmaps", key).cloned())
            .unwrap();
        change(&mut object);
        Act::json(200, &object)
    })
}

rows! {
    an_apply_that_returns_another_name => answers_with(|object| object["metadata"]["name"] = json!("other"));
    an_apply_that_returns_another_namespace => answers_with(|object| object["metadata"]["namespace"] = json!("other"));
    an_apply_that_returns_another_uid => answers_with(|object| object["metadata"]["uid"] = json!("other"));
    an_apply_that_returns_no_metadata => answers_with(|object| object["metadata"] = json!({}));
    an_apply_that_returns_a_future_version => answers_with(|object| object["metadata"]["resourceVersion"] = json!("99999999"));
    an_apply_that_returns_a_version_that_is_not_a_number => answers_with(|object| object["metadata"]["resourceVersion"] = json!("latest"));
    an_apply_that_returns_an_old_version => answers_with(|object| object["metadata"]["resourceVersion"] = json!("1"));
    an_apply_that_returns_another_kind => answers_with(|object| { object["kind"] = json!("Secret"); object["data"] = json!(3); });
    an_apply_that_returns_an_empty_body =>
        writes(|server, asked| { let _done = server.honest(asked); Act::text(200, "application/json", "") });
    an_apply_that_returns_an_empty_body_and_does_nothing => writes(|_, _| Act::text(200, "application/json", ""));
    an_apply_that_returns_201_each_time =>
        writes(|server, asked| server.honest(asked).code(201));
    an_apply_that_returns_an_html_page => writes(|_, _| Act::text(200, "text/html", "<html>Sign in</html>"));
    an_apply_that_always_conflicts => writes(|_, _| Act::status(409, "Conflict"));
    an_apply_that_is_always_invalid => writes(|_, _| Act::status(422, "Invalid"));
    an_apply_that_is_always_forbidden => writes(|_, _| Act::status(403, "Forbidden"));
    an_apply_that_always_fails => writes(|_, _| Act::status(500, "InternalError"));
    an_apply_with_retry_after_of_a_day => writes(|_, _| Act::status(503, "Busy").header("retry-after", "86400"));
    an_apply_that_is_carried_out_before_the_connection_breaks =>
        writes(|server, asked| { let _done = server.honest(asked); Act::steps(vec![Step::Abort]) });
    an_apply_that_is_never_answered => writes(|_, _| Act::Silence).recovers(200);
    an_apply_that_is_carried_out_but_never_answered =>
        writes(|server, asked| { let _done = server.honest(asked); Act::Silence }).recovers(200);
    events_that_cannot_be_written =>
        Row::from_the_start().server(|_, asked| {
            (asked.plural == "events").then(|| Act::status(500, "InternalError"))
        })
        .reports(Health::Fresh);
}
