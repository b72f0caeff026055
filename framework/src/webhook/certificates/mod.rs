//! The certificates that an operator makes for its webhooks, and how they are replaced without a failed call.
//!
//! All replicas share one Secret. It holds one or more certificate authorities, and the certificate that every replica serves.
//! [`Step::due`] decides what to replace; it knows no clock and no server.
//!
//! * The bundle in the webhook configurations holds every authority that has not expired. A serving certificate never lives longer
//!   than its authority. So no replica can serve a valid certificate that the bundle does not verify, whichever replica has not
//!   read the newest Secret yet.
//! * A new authority signs nothing for an hour. By then each replica has written it into the bundle, and each API server has seen
//!   that.
//! * The Secret is created and replaced with the resource version that was read. After a conflict a replica reads what another
//!   one wrote.
//!
//! | file | holds |
//! | --- | --- |
//! | `stored.rs` | [`Stored`]: what the Secret holds |
//! | `rotation.rs` | [`Step`]: what to replace when |
//! | `signing.rs` | makes authorities and certificates |
//! | `keeper.rs` | [`Keeper`]: reads and writes the Secret |

mod keeper;
mod rotation;
mod signing;
mod stored;
#[cfg(test)]
mod tests;

pub(super) use keeper::{KeepError, Keeper};
pub(super) use stored::Stored;
