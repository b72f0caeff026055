//! Writes whose answers are wrong.

use serde_json::{Value, json};

use crate::{
    row::{Program, Row, Says},
    server::{
        Asked, Server,
        act::{Act, Step},
    },
};

/// A row in which an operator applies ConfigMaps, and writes are answered by what is given.
fn writes(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    Row::from_the_start()
        .program(Program::Applying)
        .server(move |server, asked| {
            let is_apply = asked.is_write() && asked.plural == "configmaps";
            is_apply.then(|| answer(server, asked))
        })
        // Three widgets, each on its own backoff.
        .requests(150)
        .lines(12)
        .says(Says::Anything)
        .recovers(120)
}

/// The write is done, and the answer to it is changed.
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
    an_apply_that_answers_with_another_name => answers_with(|object| object["metadata"]["name"] = json!("other"));
    an_apply_that_answers_with_another_namespace => answers_with(|object| object["metadata"]["namespace"] = json!("other"));
    an_apply_that_answers_with_another_uid => answers_with(|object| object["metadata"]["uid"] = json!("other"));
    an_apply_that_answers_without_metadata => answers_with(|object| object["metadata"] = json!({}));
    an_apply_that_answers_with_a_version_of_the_future => answers_with(|object| object["metadata"]["resourceVersion"] = json!("99999999"));
    an_apply_that_answers_with_a_version_that_is_no_number => answers_with(|object| object["metadata"]["resourceVersion"] = json!("latest"));
    an_apply_that_answers_with_a_version_of_before => answers_with(|object| object["metadata"]["resourceVersion"] = json!("1"));
    an_apply_that_answers_with_another_kind => answers_with(|object| { object["kind"] = json!("Secret"); object["data"] = json!(3); });
    an_apply_that_answers_with_nothing =>
        writes(|server, asked| { let _done = server.honest(asked); Act::text(200, "application/json", "") });
    an_apply_that_answers_with_nothing_and_does_nothing => writes(|_, _| Act::text(200, "application/json", ""));
    an_apply_that_is_said_to_create_each_time =>
        writes(|server, asked| server.honest(asked).code(201));
    an_apply_that_answers_with_an_html_page => writes(|_, _| Act::text(200, "text/html", "<html>Sign in</html>"));
    an_apply_that_conflicts_always => writes(|_, _| Act::status(409, "Conflict"));
    an_apply_that_is_invalid_always => writes(|_, _| Act::status(422, "Invalid"));
    an_apply_that_is_forbidden_always => writes(|_, _| Act::status(403, "Forbidden"));
    an_apply_that_fails_always => writes(|_, _| Act::status(500, "InternalError"));
    an_apply_that_asks_to_wait_for_a_day => writes(|_, _| Act::status(503, "Busy").header("retry-after", "86400"));
    an_apply_that_is_done_and_whose_connection_breaks =>
        writes(|server, asked| { let _done = server.honest(asked); Act::steps(vec![Step::Abort]) });
    an_apply_that_is_never_answered => writes(|_, _| Act::Silence).recovers(200);
    an_apply_that_is_done_and_never_answered =>
        writes(|server, asked| { let _done = server.honest(asked); Act::Silence }).recovers(200);
    events_that_cannot_be_written =>
        Row::from_the_start().server(|_, asked| {
            (asked.plural == "events").then(|| Act::status(500, "InternalError"))
        })
        .says(Says::Fresh);
}
