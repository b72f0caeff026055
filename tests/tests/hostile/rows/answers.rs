//! Answers with a wrong code, head or content, over both protocols.

use serde_json::json;

use crate::{
    row::{Health, Row},
    server::{
        Asked, Server,
        act::{Act, Answer, Body, Step, bytes, pause},
    },
};

/// Returns a row in which `answer` answers all requests.
fn all(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    Row::from_the_start().server(move |server, asked| Some(answer(server, asked)))
}

/// Returns a row with the honest answers plus one header.
fn with_header(name: &'static str, value: impl Into<Vec<u8>>) -> Row {
    let value = value.into();
    all(move |server, asked| server.honest(asked).header(name, value.clone()))
}

/// Returns an answer without a content type and a body.
fn bare(code: u16) -> Act {
    Act::Answer(Answer {
        code,
        headers: vec![],
        body: Body::Whole(vec![].into()),
    })
}

rows! {
    every_request_is_unauthorized => all(|_, _| Act::status(401, "Unauthorized")).reports(Health::NotReady("Unauthorized"));
    every_request_is_forbidden => all(|_, _| Act::status(403, "Forbidden")).reports(Health::NotReady("apiGroups"));
    every_request_is_not_found => all(|_, _| Act::status(404, "NotFound")).reports(Health::NotReady("is not served"));
    every_method_is_not_allowed => all(|_, _| Act::status(405, "MethodNotAllowed")).reports(Health::NotReady("widgets"));
    every_request_conflicts => all(|_, _| Act::status(409, "Conflict")).reports(Health::NotReady("widgets"));
    every_request_gets_418 => all(|_, _| Act::text(418, "text/plain", "short and stout")).reports(Health::NotReady("short and stout"));
    every_request_gets_500 => all(|_, _| Act::status(500, "InternalError")).reports(Health::NotReady("InternalError"));
    every_request_gets_500_with_an_html_page =>
        all(|_, _| Act::text(502, "text/html", "<html>Bad Gateway</html>")).reports(Health::NotReady("502"));
    every_request_gets_500_with_a_page_of_two_megabytes =>
        all(|_, _| Act::text(500, "text/plain", "x".repeat(2 << 20))).megabytes(60).reports(Health::NotReady("500"));
    every_request_gets_500_with_a_page_that_stalls =>
        all(|_, _| Act::steps(vec![bytes("{"), Step::Forever]).code(500))
        .reports(Health::NotReady("widgets")).recovers(100);
    every_request_is_redirected_to_itself =>
        all(|_, asked| bare(301).header("location", asked.path.clone())).reports(Health::NotReady("301"));
    every_request_is_redirected_to_another_host =>
        all(|_, _| bare(307).header("location", "https://evil.example/steal")).reports(Health::NotReady("307"));
    every_request_gets_304 => all(|_, _| bare(304)).reports(Health::NotReady("304"));
    every_request_gets_204 => all(|_, _| bare(204)).reports(Health::NotReady("widgets"));
    unknown_status_codes => all(|_, asked| bare([299, 399, 499, 599, 799, 999][asked.number % 6])).lines(10).reports(Health::NotReady("widgets"));
    a_failure_without_a_body => all(|_, _| bare(500)).reports(Health::NotReady("500"));
    an_error_code_with_a_success_status =>
        all(|_, _| Act::json(500, &json!({"kind": "Status", "status": "Success", "code": 200}))).reports(Health::NotReady("widgets"));
    a_failure_with_a_message_of_a_megabyte =>
        all(|_, _| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!("m".repeat(1_000_000));
            Act::json(500, &told)
        })
        .megabytes(60).reports(Health::NotReady("mmm"));
    a_failure_with_a_message_of_many_lines =>
        all(|_, _| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!("one\ntwo\r\n\u{1b}[31mthree\0");
            Act::json(500, &told)
        })
        .reports(Health::NotReady("one"));
    a_failure_that_is_different_each_time =>
        all(|_, asked| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!(format!("request {} failed", asked.number));
            Act::json(500, &told)
        })
        .lines(12).reports(Health::NotReady("failed"));
    a_date_header_of_1970 => with_header("date", "Thu, 01 Jan 1970 00:00:00 GMT").reports(Health::Fresh);
    a_date_header_of_9999 => with_header("date", "Fri, 31 Dec 9999 23:59:59 GMT").reports(Health::Fresh);
    a_date_header_that_jumps =>
        all(|server, asked| {
            let date = ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "no time"][asked.number % 3];
            server.honest(asked).header("date", date)
        })
        .reports(Health::Fresh);
    endless_cookies =>
        all(|server, asked| (0..50).fold(server.honest(asked), |act, number| {
            act.header("set-cookie", format!("a{number}=b"))
        }))
        .reports(Health::Fresh);
    a_new_warning_with_each_answer =>
        all(|server, asked| {
            let text = format!("299 - \"warning {}\"", asked.number);
            server.honest(asked).header("warning", text)
        })
        .lines(10).reports(Health::Fresh);
    headers_that_are_not_text => with_header("x-binary", b"\xff\xfe\x80".to_vec()).reports(Health::Fresh);
    a_content_length_that_is_too_small =>
        all(|_, _| Act::text(200, "application/json", r#"{"kind":"WidgetList","items":[]}"#).header("content-length", "5"))
            .requests(120).reports(Health::NotReady("widgets"));
    a_content_length_that_is_too_large =>
        all(|_, _| Act::text(200, "application/json", r#"{"kind":"WidgetList","items":[]}"#).header("content-length", "500000"))
            .requests(120).reports(Health::NotReady("broke")).recovers(160);
    an_answer_that_claims_to_be_gzip =>
        with_header("content-encoding", "gzip").reports(Health::Anything);
    trailers_after_each_answer =>
        all(|_, _| Act::steps(vec![
            bytes(r#"{"kind":"WidgetList","metadata":{"resourceVersion":"3"},"items":[]}"#),
            Step::Trailers(vec![("x-trailer", "t".repeat(100)), ("content-length", "7".into())]),
        ]))
        .reports(Health::Anything);
    an_answer_that_never_comes => all(|_, _| Act::Silence).reports(Health::NotReady("not synced yet")).recovers(100);
    an_answer_that_is_aborted => all(|_, _| Act::steps(vec![Step::Abort])).requests(120).reports(Health::NotReady("widgets"));
    an_answer_that_is_aborted_after_59_seconds =>
        all(|_, _| Act::steps(vec![pause(29_000), bytes("{"), pause(29_000), Step::Abort])).reports(Health::NotReady("not synced yet"));
    an_interim_answer_as_the_final_answer => all(|_, _| bare(103)).reports(Health::NotReady("widgets")).recovers(100);
}
