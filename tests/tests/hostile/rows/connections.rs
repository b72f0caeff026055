//! Connections that are refused, closed, or answered in another language.

use crate::{
    row::{Row, Says},
    server::Connects,
};

fn connects(connects: Connects) -> Row {
    Row::from_the_start()
        .connects(connects)
        .requests(130)
        .says(Says::NotReady("widgets"))
}

rows! {
    connections_that_are_refused => connects(Connects::Refuses).says(Says::NotReady("connection refused"));
    connections_that_are_accepted_and_closed => connects(Connects::Closes);
    connections_that_are_accepted_and_never_answered => connects(Connects::Silent).recovers(100);
    a_mail_server => connects(Connects::Says("220 mail.example ESMTP ready\r\n"));
    a_server_of_ssh => connects(Connects::Says("SSH-2.0-OpenSSH_9.9\r\n"));
    a_server_that_speaks_tls => connects(Connects::Says("\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{16}"));
    a_server_of_http1_that_refuses_unasked =>
        connects(Connects::Says("HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n"));
    a_server_of_http2_that_speaks_first: http1 =>
        connects(Connects::Says("\0\0\0\u{4}\0\0\0\0\0"));
}
