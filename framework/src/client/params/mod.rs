//! Options of the verbs: plain structs with `Default` and chained setters.
//!
//! | file | holds |
//! | --- | --- |
//! | `get.rs`, `list.rs`, `watch.rs` | options of the verbs that read |
//! | `post.rs`, `patch_params.rs`, `delete.rs` | options of the verbs that write |
//! | `patch.rs` | [`Patch`]: the body of a patch |
//! | `checks.rs` | checks that several of them share |

mod checks;
mod delete;
mod get;
mod list;
mod patch;
mod patch_params;
mod post;
mod watch;

pub use delete::{DeleteParams, Propagation};
pub use get::GetParams;
pub use list::{ListParams, VersionMatch};
pub use patch::Patch;
pub use patch_params::PatchParams;
pub use post::{FieldValidation, PostParams};
pub use watch::WatchParams;
