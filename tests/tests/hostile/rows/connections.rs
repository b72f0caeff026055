//! Connections that are refused, closed, or answered in another protocol.

use crate::{
    row::{Health, Row},
    server::Connects,
};

fn connects(connects: Connects) -> Row {
    Row::from_the_start()
        .connects(connects)
        .requests(130)
        .reports(Health::NotReady("widgets"))
}

rows! {
    connections_that_are_refused => connects(Connects::Refuses).reports(Health::NotReady("connection refused"));
    connections_that_are_accepted_and_closed => connects(Connects::Closes);
    connections_that_are_accepted_and_never_answered => connects(Connects::Silent).recovers(100);
    a_server_that_speaks_smtp => connects(Connects::Sends("220 mail.example ESMTP ready\r\n"));
    a_server_that_speaks_ssh => connects(Connects::Sends("SSH-2.0-OpenSSH_9.9\r\n"));
    a_server_that_speaks_tls => connects(Connects::Sends("\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{16}"));
    an_http1_server_that_sends_an_error_before_a_request =>
        connects(Connects::Sends("HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n"));
    an_http2_server_that_sends_first: http1 =>
        connects(Connects::Sends("\0\0\0\u{4}\0\0\0\0\0"));
}
