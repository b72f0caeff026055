//! Single calls of the client.

use pilothouse::{
    client::{Api, Client, Error},
    resource::Object,
};
use serde_json::json;

use crate::{
    program::Widget,
    row::{CallOutcome, Row},
    server::act::{Act, Step, bytes},
};

async fn get(client: Client) -> Result<String, Error> {
    let same = Api::<Widget>::namespaced(&client, "default")
        .get("same")
        .await?;
    Ok(format!("{} of size {}", same.name(), same.spec.size))
}

/// Returns a row in which the client reads one object.
fn gets(expected: CallOutcome, answer: impl Fn() -> Act + Send + Sync + 'static) -> Row {
    Row::from_the_start()
        .server(move |_, _| Some(answer()))
        .requests(12)
        .call(expected, get)
}

rows! {
    a_get_that_is_answered_with_an_html_page =>
        gets(CallOutcome::Error("text/html"), || Act::text(200, "text/html", "<html>Sign in</html>"));
    a_get_that_is_answered_with_an_empty_body =>
        gets(CallOutcome::Error("get Widget default/same"), || Act::text(200, "application/json", ""));
    a_get_that_is_answered_with_a_status =>
        gets(CallOutcome::Error("get Widget default/same"), || Act::status(200, "InternalError"));
    a_get_that_is_answered_with_another_kind =>
        gets(CallOutcome::Error("get Widget default/same"), || Act::json(200, &json!({"kind": "Secret", "metadata": {"name": "same"}, "data": {}})));
    a_get_that_stalls =>
        gets(CallOutcome::Error("nothing more came"), || Act::steps(vec![bytes("{"), Step::Forever]));
    a_get_that_gets_429_for_a_day =>
        gets(CallOutcome::Error("Busy"), || Act::status(429, "Busy").header("retry-after", "86400"));
    a_get_with_white_space_around_the_object =>
        gets(CallOutcome::Text("same of size 4"), || {
            let text = json!({"metadata": {"name": "same", "namespace": "default"}, "spec": {"size": 4}});
            Act::text(200, "application/json; charset=utf-8", format!("\n\n {text} \r\n\t"))
        });
    a_get_with_bytes_after_the_object =>
        gets(CallOutcome::Error("get Widget default/same"), || {
            let text = json!({"metadata": {"name": "same", "namespace": "default"}, "spec": {"size": 4}});
            Act::text(200, "application/json", format!("{text}{text}"))
        });
    a_get_with_a_byte_order_mark =>
        gets(CallOutcome::Error("get Widget default/same"), || {
            let text = json!({"metadata": {"name": "same", "namespace": "default"}, "spec": {"size": 4}});
            Act::text(200, "application/json", format!("\u{feff}{text}"))
        });
}
