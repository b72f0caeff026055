//! Refuses requests that the program did not declare.
//!
//! An [`AccessGuard`] compares each request with the access that the program declared, in the same way as the API
//! server's authorizer. [`Client::guarded`](super::Client::guarded) puts a guard in front of a client.
//!
//! | file | holds |
//! | --- | --- |
//! | `access_guard.rs` | [`AccessGuard`], its temporary [`AccessGrant`]s, and how it reads verb and resource from a request |

mod access_guard;

pub use access_guard::{AccessGrant, AccessGuard};
