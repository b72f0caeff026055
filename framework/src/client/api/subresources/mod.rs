//! Subresources of objects.
//!
//! | file | holds |
//! | --- | --- |
//! | `any.rs` | any subresource, by its name |
//! | `status.rs`, `scale.rs` | the subresources that many kinds have |
//! | `approval.rs`, `cordon.rs`, `pod.rs`, `restart.rs`, `token.rs` | methods that only some kinds have |

mod any;
mod approval;
mod cordon;
mod pod;
mod restart;
mod scale;
mod status;
mod token;

pub use restart::Restart;
