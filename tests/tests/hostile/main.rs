//! Tests a whole operator against a server that misbehaves.
//!
//! In each row of the table in `rows` the server misbehaves in one way for 60 s of tokio's paused clock. The server is
//! small, in memory, and written only for this suite. A row defines what the server does, and limits for the program under
//! attack: the number of requests that it sends, of bytes that it reads and of lines that it logs, and the health that it
//! reports. After the 60 s the server is honest. Then the operator must soon deliver the last state of every object.
//!
//! A row over both protocols gives two tests, `http1` and `http2`. `PILOTHOUSE_HOSTILE_SHOW=1` with `--nocapture` prints
//! the counts.

mod log;
mod program;
mod row;
#[macro_use]
mod table;
mod rows;
mod run;
mod server;
