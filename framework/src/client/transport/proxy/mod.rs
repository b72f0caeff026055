//! Tunnels through a proxy.
//!
//! All traffic goes through a tunnel, also to servers without TLS; programs in Go send such requests to the proxy
//! itself. So the proxy sees no more than it must, and the tunnel can carry HTTP/2 or an upgraded connection.
//!
//! hyper speaks `CONNECT`. The SOCKS5 code is our own, because no crate fits: hyper-util's connectors come with its
//! whole pooling client, block on name lookups, and hide the proxy's answer. Others would add four crates for a hundred
//! lines.
//!
//! | file | holds |
//! | --- | --- |
//! | `proxy_tunnel.rs` | [`ProxyTunnel`]: connects to the proxy, and asks it for a tunnel |
//! | `http_connect.rs`, `socks5.rs` | the two protocols |

mod http_connect;
mod proxy_tunnel;
mod socks5;

pub(super) use proxy_tunnel::ProxyTunnel;
