//! HTTP/1.1 answers that violate the protocol, written byte by byte.

use crate::{
    row::{Health, Row},
    server::{
        Asked, Server,
        act::{Act, Step, bytes, pause, repeat, trickled},
    },
};

const LIST: &str = r#"{"kind":"WidgetList","metadata":{"resourceVersion":"3"},"items":[]}"#;

fn raw(answer: impl Fn(&Server, &Asked) -> Vec<Step> + Send + Sync + 'static) -> Row {
    Row::from_the_start()
        .server(move |server, asked| Some(Act::raw(answer(server, asked))))
        // The client sends a broken read again once.
        .requests(120)
        .reports(Health::NotReady("widgets"))
}

/// Returns a row in which the server sends these bytes and closes the connection.
fn sends(text: impl AsRef<[u8]>) -> Row {
    let text = text.as_ref().to_vec();
    raw(move |_, _| vec![bytes(&text)])
}

/// Returns a row in which the server sends these bytes and then nothing more.
fn stalls(text: impl AsRef<[u8]>) -> Row {
    let text = text.as_ref().to_vec();
    raw(move |_, _| vec![bytes(&text), Step::Forever])
        .reports(Health::NotReady("not synced yet"))
        .recovers(160)
}

/// Returns the head of a valid answer followed by `rest`.
fn ok(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{rest}")
}

rows! {
    a_stall_before_the_status_line: http1 => stalls("");
    a_stall_within_the_status_line: http1 => stalls("HTTP/1.1 20");
    a_stall_after_the_status_line: http1 => stalls("HTTP/1.1 200 OK\r\n");
    a_stall_within_a_header: http1 => stalls("HTTP/1.1 200 OK\r\ncontent-ty");
    a_stall_before_the_end_of_the_head: http1 => stalls(ok(""));
    a_stall_after_the_head: http1 => stalls(ok("content-length: 70\r\n\r\n")).reports(Health::NotReady("nothing more came"));
    a_stall_within_the_body: http1 => stalls(ok("content-length: 700\r\n\r\n{\"kind\":")).reports(Health::NotReady("nothing more came"));
    a_stall_within_a_chunk_size: http1 => stalls(ok("transfer-encoding: chunked\r\n\r\n4")).reports(Health::NotReady("nothing more came"));
    a_stall_within_a_chunk: http1 => stalls(ok("transfer-encoding: chunked\r\n\r\n40\r\n{\"kind\":")).reports(Health::NotReady("nothing more came"));
    a_stall_after_a_chunk: http1 => stalls(ok("transfer-encoding: chunked\r\n\r\n8\r\n{\"kind\":")).reports(Health::NotReady("nothing more came"));
    a_stall_before_the_last_chunk: http1 => stalls(ok(&format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n", LIST.len()))).reports(Health::NotReady("nothing more came"));
    a_stall_within_the_trailers: http1 => stalls(ok(&format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n0\r\nx-tr", LIST.len()))).reports(Health::NotReady("nothing more came"));
    an_answer_byte_by_byte: http1 =>
        Row::from_the_start()
            .server(|server, asked| asked.is_list().then(|| {
                let body = server.read(|world| world.list_body("widgets", None)).to_string();
                Act::raw(trickled(ok(&format!("content-length: {}\r\n\r\n{body}", body.len()))))
            }).or_else(|| asked.is_streamed_list().then(|| Act::status(422, "Invalid"))))
            .reports(Health::Fresh);
    an_endless_head_byte_by_byte: http1 =>
        raw(|_, _| trickled(format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(70_000))))
            .reports(Health::NotReady("not synced yet")).recovers(100);
    a_connection_that_is_closed_within_the_head: http1 => sends("HTTP/1.1 200 OK\r\ncontent-ty");
    a_connection_that_is_closed_within_the_body: http1 => sends(ok("content-length: 700\r\n\r\n{\"kind\":"));
    a_connection_that_is_closed_within_a_chunk: http1 => sends(ok("transfer-encoding: chunked\r\n\r\n40\r\n{\"kind\":"));
    a_body_that_ends_with_the_connection: http1 => sends(ok(&format!("\r\n{LIST}"))).reports(Health::Anything).forgets();
    an_invalid_status_line: http1 => sends("what do you want\r\n\r\n");
    a_status_line_of_http_0_9: http1 => sends("<html>hello</html>\n");
    a_status_line_of_http_1_0: http1 =>
        sends(format!("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{LIST}", LIST.len()))
            .reports(Health::Anything).forgets();
    a_status_line_of_http_9: http1 => sends("HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n");
    a_status_code_that_is_not_a_number: http1 => sends("HTTP/1.1 abc OK\r\ncontent-length: 0\r\n\r\n");
    a_header_without_a_colon: http1 => sends(ok("this is no header\r\ncontent-length: 0\r\n\r\n"));
    a_header_with_nul: http1 => sends(ok("x: a\0b\r\ncontent-length: 0\r\n\r\n"));
    a_header_that_continues_on_the_next_line: http1 => sends(ok("x: a\r\n b\r\ncontent-length: 0\r\n\r\n"));
    two_different_content_lengths: http1 => sends(ok(&format!("content-length: 5\r\ncontent-length: {}\r\n\r\n{LIST}", LIST.len())));
    a_negative_content_length: http1 => sends(ok(&format!("content-length: -1\r\n\r\n{LIST}")));
    a_content_length_that_overflows: http1 => sends(ok(&format!("content-length: 99999999999999999999999\r\n\r\n{LIST}")));
    a_content_length_of_the_largest_integer: http1 => stalls(ok("content-length: 18446744073709551615\r\n\r\n{")).reports(Health::NotReady("widgets"));
    a_content_length_with_chunks: http1 =>
        sends(ok(&format!("content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n0\r\n\r\n", LIST.len())))
            .reports(Health::Anything).forgets();
    an_unknown_transfer_encoding: http1 => sends(ok(&format!("transfer-encoding: shuffled\r\n\r\n{LIST}"))).reports(Health::Anything).forgets();
    a_chunk_size_that_is_not_a_number: http1 => sends(ok("transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"));
    a_chunk_size_that_overflows: http1 => sends(ok("transfer-encoding: chunked\r\n\r\nfffffffffffffffffff\r\n{}\r\n0\r\n\r\n"));
    a_chunk_size_of_the_largest_integer: http1 => stalls(ok("transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}")).reports(Health::NotReady("nothing more came"));
    a_chunk_with_a_wrong_end: http1 => sends(ok("transfer-encoding: chunked\r\n\r\n2\r\n{}garbage\r\n0\r\n\r\n"));
    an_endless_chunk_extension: http1 =>
        raw(|server, _| {
            let _ = server;
            vec![bytes(ok("transfer-encoding: chunked\r\n\r\n2;x=")), bytes("y".repeat(1 << 20)), Step::Forever]
        })
        .megabytes(40).reports(Health::NotReady("widgets")).recovers(160);
    trailers_of_a_megabyte: http1 =>
        raw(|_, _| vec![
            bytes(ok(&format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n0\r\n", LIST.len()))),
            bytes(format!("x: {}\r\n\r\n", "y".repeat(1 << 20))),
        ])
        .megabytes(60).reports(Health::Anything).forgets();
    ten_thousand_trailers: http1 =>
        raw(|_, _| vec![
            bytes(ok(&format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{LIST}\r\n0\r\n", LIST.len()))),
            bytes("x: y\r\n".repeat(10_000)), bytes("\r\n"),
        ])
        .megabytes(60).reports(Health::Anything).forgets();
    a_head_of_a_megabyte: http1 =>
        sends(ok(&format!("x: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(1 << 20)))).megabytes(60);
    ten_thousand_headers: http1 => sends(ok(&format!("{}content-length: 0\r\n\r\n", "x: y\r\n".repeat(10_000)))).megabytes(60);
    endless_interim_answers: http1 =>
        Row::from_the_start()
            .server(|_, _| Some(Act::raw(repeat(vec![], 10, |_| Some(bytes("HTTP/1.1 100 Continue\r\n\r\n"))))))
            .reports(Health::NotReady("interim answers"));
    endless_early_hints: http1 =>
        Row::from_the_start()
            .server(|_, _| Some(Act::raw(repeat(vec![], 10, |_| Some(bytes("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"))))))
            .reports(Health::NotReady("interim answers"));
    an_unrequested_protocol_switch: http1 =>
        sends("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello");
    an_answer_before_its_request: http1 =>
        raw(|_, _| {
            let empty = ok(&format!("content-length: {}\r\n\r\n{LIST}", LIST.len()));
            vec![bytes(empty.repeat(3)), pause(1000)]
        })
        .reports(Health::Anything).forgets();
    a_connection_that_is_closed_after_each_answer: http1 =>
        Row::from_the_start()
            .server(|server, asked| (!asked.is_watch()).then(|| server.honest(asked).header("connection", "close")))
            .reports(Health::Fresh);
}
