//! The subresource `proxy` of Pods and Services: the server passes a request on to a program in a Pod.
//!
//! The programs are those that a test lets its Pods listen with ([`Pods::port`](crate::Pods::port)). A request to another port is refused
//! with the text of a real server that nobody answers. Links in the pages of a program are not rewritten, redirections are.
//!
//! | file | what it does |
//! | --- | --- |
//! | `place.rs` | finds the Pod and the port that a path names |
//! | `handler.rs` | checks the request, and answers it |
//! | `forward.rs` | passes it on, with the headers of Go's reverse proxy |
//! | `redirection.rs` | leads redirections through the proxy |

mod forward;
mod handler;
mod place;
mod redirection;

pub(super) use handler::{Passed, handle, serves};

/// What a handler needs of a request to pass it on.
pub(super) struct Original {
    pub(super) uri: http::Uri,
    pub(super) headers: http::HeaderMap,
    /// The address of the client, if it is not in this process.
    pub(super) client: Option<std::net::IpAddr>,
}

/// The address of the other end of a connection, as an extension of its requests.
#[derive(Clone, Copy)]
pub(super) struct Peer(pub(super) std::net::IpAddr);
