//! From a request to bytes on a connection: dialing, TLS and the pool.
//!
//! | file | holds |
//! | --- | --- |
//! | `pool.rs` | [`Pool`]: the connections to one server, and which request goes to which |
//! | `open_connections.rs` | the open connections of one class, used and idle |
//! | `checkout.rs` | sends a request on a connection, and returns the connection after the answer |
//! | `connection.rs`, `http1.rs` | an HTTP/2 connection, and an HTTP/1.1 connection |
//! | `settings_wait.rs` | waits for the first settings of an HTTP/2 server |
//! | `upgrade.rs` | sends a request for another protocol on its own connection |
//! | `fenced_io.rs` | checks the fences of requests at the socket |
//! | `slow_reader_guard.rs` | ends a stream that its caller does not read |
//! | `connector.rs` | [`Connector`]: a program's own way to the server |
//! | `dialer.rs`, `tcp.rs` | opens byte streams; TCP with happy eyeballs and keep-alive |
//! | `proxy/` | tunnels through HTTP and SOCKS5 proxies |
//! | `tls.rs`, `current_tls.rs`, `roots_file.rs` | TLS, the present certificates, and the file of authorities |
//! | `cleartext.rs` | notices a TLS server behind a connection without TLS |
//!
//! `tcp.rs` does not use the `HttpConnector` of hyper-util, because that connector has no options for these behaviours:
//!
//! | behaviour | test |
//! | --- | --- |
//! | a silent address delays the next one of its family by 250 ms only, and may still win | `the_first_address_that_connects_wins` |
//! | the error names each address and its failure | `the_error_names_the_failure_of_each_address` |
//! | an error that every address refused is told from one that some did | `an_address_where_nothing_listens_does_not_hide_one_where_something_does` |

mod checkout;
mod cleartext;
mod connection;
mod connector;
mod current_tls;
mod dialer;
mod fenced_io;
mod http1;
mod open_connections;
mod pool;
mod proxy;
mod roots_file;
mod settings_wait;
mod slow_reader_guard;
mod tcp;
mod tls;
mod upgrade;

pub use connector::{Connector, Io};

pub(crate) use current_tls::CurrentTls;
pub(crate) use dialer::Dialer;
pub use pool::Pool;
pub(crate) use pool::{connection_broke, was_not_processed};
pub(crate) use tls::certified;
