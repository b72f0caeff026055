//! Lists that make no progress, never end, or make no sense.

use futures_util::TryStreamExt;
use pilothouse::client::{Api, Client, Error, ListParams};
use serde_json::{Value, json};

use crate::{
    program::Widget,
    row::{CallOutcome, Health, Row},
    server::{
        Asked, Server,
        act::{Act, Step, bytes, pause},
        world::list_of,
    },
};

/// Returns a row without streamed lists in which `answer` answers lists of widgets.
fn lists(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    lists_of(Row::from_the_start(), answer)
}

fn lists_of(row: Row, answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    row.server(move |server, asked| {
        if !asked.is_of_widgets() || !asked.is_any_list() {
            return None;
        }
        Some(match asked.is_list() {
            true => answer(server, asked),
            false => Act::status(422, "Invalid"),
        })
    })
}

fn objects(server: &Server) -> Vec<Value> {
    server.read(|world| world.list("widgets", None))
}

fn page(server: &Server, items: &[Value], next: &str) -> Act {
    Act::json(200, &list_of("widgets", items, &server.version(), next))
}

/// Returns a page with one object that does not exist.
fn phantom(number: usize) -> Value {
    json!({
        "apiVersion": "test.pilothouse.dev/v1", "kind": "Widget", "spec": {"size": 1},
        "metadata": {"name": format!("p-{number}"), "namespace": "default", "uid": format!("p-{number}"), "resourceVersion": "1"},
    })
}

async fn list_all(client: Client) -> Result<String, Error> {
    let widgets = Api::<Widget>::all(&client);
    let all = widgets.list_all(&ListParams::default()).await?;
    Ok(format!("{} widgets", all.items.len()))
}

async fn pages(client: Client) -> Result<String, Error> {
    let widgets = Api::<Widget>::all(&client);
    let pages: Vec<_> = widgets.pages(&ListParams::default()).try_collect().await?;
    let all: usize = pages.iter().map(|page| page.items.len()).sum();
    Ok(format!("{all} widgets"))
}

/// Returns the body of a list, cut at a position that depends on the number of the request.
fn cut(server: &Server, number: usize) -> Vec<u8> {
    let body = list_of("widgets", &objects(server), &server.version(), "").to_string();
    let at = (number * 37) % body.len();
    body.as_bytes()[..at].to_vec()
}

rows! {
    a_continue_token_that_repeats =>
        lists(|server, _| page(server, &objects(server), "again")).reports(Health::NotReady("widgets"));
    a_continue_token_that_repeats_every_second_page =>
        lists(|server, asked| page(server, &objects(server), ["odd", "even"][asked.number % 2]))
            .reports(Health::NotReady("widgets"));
    new_continue_tokens_with_the_same_objects =>
        lists(|server, asked| page(server, &objects(server), &format!("t-{}", asked.number)))
            // The client ends a list after a hundred pages without a new object.
            .requests(1000).reports(Health::NotReady("widgets"));
    endless_pages_without_objects =>
        lists(|server, asked| page(server, &[], &format!("t-{}", asked.number)))
            // The client ends a list after a hundred pages without a new object.
            .requests(1000).reports(Health::NotReady("widgets"));
    list_all_with_a_continue_token_that_repeats =>
        lists(|server, _| page(server, &objects(server), "again"))
            .call(CallOutcome::Error("continue"), list_all);
    list_all_with_pages_of_the_same_objects =>
        lists(|server, asked| page(server, &objects(server), &format!("t-{}", asked.number)))
            .requests(110).call(CallOutcome::Error("list"), list_all);
    list_all_with_pages_without_objects =>
        lists(|server, asked| page(server, &[], &format!("t-{}", asked.number)))
            .requests(110).call(CallOutcome::Error("list"), list_all);
    pages_with_a_continue_token_that_repeats =>
        lists(|server, _| page(server, &objects(server), "again"))
            .call(CallOutcome::Error("continue"), pages);
    every_page_except_the_first_has_expired =>
        lists(|server, asked| match asked.next() {
            "" => page(server, &[phantom(1)], "next"),
            _ => Act::status(410, "Expired"),
        })
        .reports(Health::NotReady("widgets"));
    every_list_has_expired =>
        lists(|_, _| Act::status(410, "Expired")).reports(Health::NotReady("widgets"));
    lists_that_fail_after_a_hundred_pages =>
        lists(|server, asked| match asked.number % 100 {
            0 => Act::status(500, "InternalError"),
            number => page(server, &[phantom(number)], &format!("t-{number}")),
        })
        .requests(800).reports(Health::NotReady("widgets"));
    an_empty_answer_to_a_list =>
        lists(|_, _| Act::text(200, "application/json", "")).reports(Health::NotReady("widgets"));
    an_html_page_for_a_list =>
        lists(|_, _| Act::text(200, "text/html", "<html>Sign in to the network</html>"))
            .reports(Health::NotReady("text/html"));
    a_status_for_a_list =>
        lists(|_, _| Act::status(200, "InternalError")).reports(Health::NotReady("widgets"));
    a_list_without_a_content_type =>
        lists(|server, _| page(server, &objects(server), "").header("content-type", "")).reports(Health::Fresh);
    a_list_with_the_content_type_protobuf =>
        lists(|server, _| page(server, &objects(server), "").header("content-type", "application/vnd.kubernetes.protobuf"))
            .reports(Health::NotReady("protobuf"));
    a_list_with_the_content_type_of_an_image =>
        lists(|server, _| page(server, &objects(server), "").header("content-type", "image/png"))
            .reports(Health::NotReady("image/png"));
    a_list_of_another_kind =>
        lists(|server, _| {
            let secret = json!({"metadata": {"name": "a", "namespace": "default"}, "data": {"password": "aHVudGVyMg=="}});
            Act::json(200, &list_of("configmaps", &[secret], &server.version(), ""))
        })
        .forgets().reports(Health::Anything);
    a_list_cut_off_at_many_positions =>
        lists(|server, asked| Act::text(200, "application/json", cut(server, asked.number)))
            .lines(20).reports(Health::NotReady("widgets"));
    a_list_without_items =>
        lists(|_, _| Act::json(200, &json!({"metadata": {"resourceVersion": "3"}})))
            .reports(Health::NotReady("items"));
    a_list_that_is_an_array =>
        lists(|server, _| Act::json(200, &json!(objects(server)))).reports(Health::NotReady("widgets"));
    a_list_that_is_null =>
        lists(|_, _| Act::json(200, &Value::Null)).reports(Health::NotReady("widgets"));
    a_list_of_items_that_are_not_objects =>
        lists(|server, _| Act::json(200, &json!({
            "kind": "WidgetList", "metadata": {"resourceVersion": server.version()},
            "items": [1, "two", null, [], {}, true, {"metadata": null}, {"metadata": []}, {"metadata": {"name": 5}}],
        })))
        .forgets().lines(24).reports(Health::Anything);
    a_list_without_a_version =>
        lists(|server, _| Act::json(200, &json!({"kind": "WidgetList", "metadata": {}, "items": objects(server)})))
            .reports(Health::Anything);
    a_list_that_comes_byte_by_byte =>
        lists(|server, _| {
            let body = list_of("widgets", &objects(server), &server.version(), "").to_string();
            Act::steps(crate::server::act::trickled(body))
        })
        .reports(Health::Fresh);
    a_list_that_stalls_within_its_body =>
        lists(|_, _| Act::steps(vec![bytes(r#"{"kind":"WidgetList","items":[{"#), Step::Forever]))
            .reports(Health::NotReady("nothing more came")).recovers(100);
    a_list_that_is_aborted_within_its_body =>
        lists(|_, _| Act::steps(vec![bytes(r#"{"kind":"WidgetList","items":[{"#), pause(50), Step::Abort]))
            .reports(Health::NotReady("widgets"));
    a_list_with_one_byte_per_twenty_seconds =>
        lists(|_, _| Act::steps(crate::server::act::repeat(vec![], 20_000, |_| Some(bytes(" ")))))
            .reports(Health::NotReady("not synced yet")).recovers(240);
    a_relist_that_is_empty =>
        lists_of(Row::after_sync(), |server, _| page(server, &[], ""))
            .reports(Health::Anything).forgets();
    a_list_after_sync_that_never_succeeds =>
        Row::after_sync()
            .server(|_, asked| match asked.is_any_list() {
                true => Some(Act::status(500, "InternalError")),
                false => asked.is_plain_watch().then(|| Act::status(410, "Expired")),
            })
            .reports(Health::Trouble("InternalError"));
}
