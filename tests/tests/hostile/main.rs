//! A server that misbehaves, and a whole operator that has to bear it.
//!
//! Each row of the table in `rows` is one way to misbehave, for 60 s of tokio's paused clock. The server is small, in
//! memory and written for this suite alone. A row says what the server does, and bounds for what the program under
//! attack does meanwhile: how many requests it sends, how many bytes it takes, how many lines it logs, and what it says
//! of itself. After the 60 s the server is honest. Then every object's last state has to be delivered soon.
//!
//! A row over both protocols is two tests, `http1` and `http2`. `PILOTHOUSE_HOSTILE_SHOW=1` with `--nocapture` prints
//! what was counted.

mod log;
mod program;
mod row;
#[macro_use]
mod table;
mod rows;
mod run;
mod server;
