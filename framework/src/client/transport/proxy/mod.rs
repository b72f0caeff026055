//! Tunnels through a proxy.
//!
//! Everything goes through a tunnel, requests to servers without TLS included, where programs written
//! in Go would send them to the proxy itself: a proxy is not shown what it need not see, and what
//! goes over a tunnel may be HTTP/2 or an upgraded connection.
//!
//! `CONNECT` is spoken by hyper. SOCKS5 is our own, for want of a crate that fits: hyper-util's
//! connectors come with its whole pooling client, look names up blockingly, and hide the proxy's
//! answer; others cost four crates for a hundred lines.

mod http_connect;
mod problem;
mod socks5;
mod via;

pub use problem::ProxyProblem;
pub(super) use via::Via;
