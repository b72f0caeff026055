//! Options of the single verbs: plain structs with `Default` and chained setters.

mod checks;
mod delete;
mod get;
mod list;
mod patch;
mod patch_params;
mod post;
mod watch;

pub use delete::{DeleteParams, Preconditions, Propagation};
pub use get::GetParams;
pub use list::{ListParams, VersionMatch};
pub use patch::Patch;
pub use patch_params::PatchParams;
pub use post::{FieldValidation, PostParams};
pub use watch::WatchParams;
