//! Answers whose code, head or meaning is wrong, over both protocols.

use serde_json::json;

use crate::{
    row::{Row, Says},
    server::{
        Asked, Server,
        act::{Act, Answer, Body, Step, bytes, pause},
    },
};

/// A row in which everything is answered by what is given.
fn all(answer: impl Fn(&Server, &Asked) -> Act + Send + Sync + 'static) -> Row {
    Row::from_the_start().server(move |server, asked| Some(answer(server, asked)))
}

/// The honest answer with one more header.
fn with_header(name: &'static str, value: impl Into<Vec<u8>>) -> Row {
    let value = value.into();
    all(move |server, asked| server.honest(asked).header(name, value.clone()))
}

/// An answer without a content type or a body.
fn bare(code: u16) -> Act {
    Act::Answer(Answer {
        code,
        headers: vec![],
        body: Body::Whole(vec![].into()),
    })
}

rows! {
    nobody_is_known => all(|_, _| Act::status(401, "Unauthorized")).says(Says::NotReady("Unauthorized"));
    nothing_is_allowed => all(|_, _| Act::status(403, "Forbidden")).says(Says::NotReady("apiGroups"));
    nothing_is_found => all(|_, _| Act::status(404, "NotFound")).says(Says::NotReady("is not served"));
    no_method_is_allowed => all(|_, _| Act::status(405, "MethodNotAllowed")).says(Says::NotReady("widgets"));
    everything_conflicts => all(|_, _| Act::status(409, "Conflict")).says(Says::NotReady("widgets"));
    everything_is_a_teapot => all(|_, _| Act::text(418, "text/plain", "short and stout")).says(Says::NotReady("short and stout"));
    everything_fails => all(|_, _| Act::status(500, "InternalError")).says(Says::NotReady("InternalError"));
    everything_fails_with_an_html_page =>
        all(|_, _| Act::text(502, "text/html", "<html>Bad Gateway</html>")).says(Says::NotReady("502"));
    everything_fails_with_a_page_of_two_megabytes =>
        all(|_, _| Act::text(500, "text/plain", "x".repeat(2 << 20))).megabytes(60).says(Says::NotReady("500"));
    everything_fails_with_a_page_that_stalls =>
        all(|_, _| Act::steps(vec![bytes("{"), Step::Forever]).code(500))
        .says(Says::NotReady("widgets")).recovers(100);
    everything_moved_to_itself =>
        all(|_, asked| bare(301).header("location", asked.path.clone())).says(Says::NotReady("301"));
    everything_moved_to_another_host =>
        all(|_, _| bare(307).header("location", "https://evil.example/steal")).says(Says::NotReady("307"));
    nothing_was_modified => all(|_, _| bare(304)).says(Says::NotReady("304"));
    nothing_is_the_content => all(|_, _| bare(204)).says(Says::NotReady("widgets"));
    codes_that_nobody_knows => all(|_, asked| bare([299, 399, 499, 599, 799, 999][asked.number % 6])).lines(10).says(Says::NotReady("widgets"));
    a_failure_without_a_body => all(|_, _| bare(500)).says(Says::NotReady("500"));
    a_failure_whose_status_says_success =>
        all(|_, _| Act::json(500, &json!({"kind": "Status", "status": "Success", "code": 200}))).says(Says::NotReady("widgets"));
    a_failure_whose_status_has_a_message_of_a_megabyte =>
        all(|_, _| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!("m".repeat(1_000_000));
            Act::json(500, &told)
        })
        .megabytes(60).says(Says::NotReady("mmm"));
    a_failure_whose_message_has_many_lines =>
        all(|_, _| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!("one\ntwo\r\n\u{1b}[31mthree\0");
            Act::json(500, &told)
        })
        .says(Says::NotReady("one"));
    a_failure_that_is_different_each_time =>
        all(|_, asked| {
            let mut told = crate::server::act::status(500, "InternalError");
            told["message"] = json!(format!("request {} failed", asked.number));
            Act::json(500, &told)
        })
        .lines(12).says(Says::NotReady("failed"));
    a_clock_of_1970 => with_header("date", "Thu, 01 Jan 1970 00:00:00 GMT").says(Says::Fresh);
    a_clock_of_9999 => with_header("date", "Fri, 31 Dec 9999 23:59:59 GMT").says(Says::Fresh);
    a_clock_that_jumps =>
        all(|server, asked| {
            let date = ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "no time"][asked.number % 3];
            server.honest(asked).header("date", date)
        })
        .says(Says::Fresh);
    cookies_without_end =>
        all(|server, asked| (0..50).fold(server.honest(asked), |act, number| {
            act.header("set-cookie", format!("a{number}=b"))
        }))
        .says(Says::Fresh);
    warnings_of_a_new_text_with_each_answer =>
        all(|server, asked| {
            let text = format!("299 - \"warning {}\"", asked.number);
            server.honest(asked).header("warning", text)
        })
        .lines(10).says(Says::Fresh);
    headers_that_are_no_text => with_header("x-binary", b"\xff\xfe\x80".to_vec()).says(Says::Fresh);
    a_length_that_is_said_to_be_less =>
        all(|_, _| Act::text(200, "application/json", r#"{"kind":"WidgetList","items":[]}"#).header("content-length", "5"))
            .requests(120).says(Says::NotReady("widgets"));
    a_length_that_is_said_to_be_more =>
        all(|_, _| Act::text(200, "application/json", r#"{"kind":"WidgetList","items":[]}"#).header("content-length", "500000"))
            .requests(120).says(Says::NotReady("broke")).recovers(160);
    an_answer_that_says_it_is_gzip_and_is_not =>
        with_header("content-encoding", "gzip").says(Says::Anything);
    trailers_after_each_answer =>
        all(|_, _| Act::steps(vec![
            bytes(r#"{"kind":"WidgetList","metadata":{"resourceVersion":"3"},"items":[]}"#),
            Step::Trailers(vec![("x-trailer", "t".repeat(100)), ("content-length", "7".into())]),
        ]))
        .says(Says::Anything);
    an_answer_that_never_comes => all(|_, _| Act::Silence).says(Says::NotReady("not synced yet")).recovers(100);
    an_answer_that_is_aborted => all(|_, _| Act::steps(vec![Step::Abort])).requests(120).says(Says::NotReady("widgets"));
    an_answer_that_is_aborted_after_a_minute_less_one_second =>
        all(|_, _| Act::steps(vec![pause(29_000), bytes("{"), pause(29_000), Step::Abort])).says(Says::NotReady("not synced yet"));
    an_answer_that_is_an_interim_one => all(|_, _| bare(103)).says(Says::NotReady("widgets")).recovers(100);
}
