//! The parts of a request that the stack and the transport both read.
//!
//! | file | holds |
//! | --- | --- |
//! | `body.rs` | [`Body`]: the body of a request or of an answer |
//! | `fence.rs` | [`Fence`]: a condition under which a request may be sent |
//! | `request_class.rs` | [`RequestClass`]: whether a request is an ordinary one, a watch or an upgrade |
//! | `request_path.rs` | [`RequestPath`]: a path of the API, parsed into group, resource, namespace and name |
//! | `url.rs` | writes paths and queries, escaped |

mod body;
mod fence;
mod request_class;
mod request_path;
pub(crate) mod url;

pub use body::Body;
pub(crate) use fence::Fence;
pub(crate) use request_class::RequestClass;
pub(crate) use request_path::RequestPath;
