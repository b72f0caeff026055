//! The patch formats of Kubernetes, without server-side apply.
//!
//! | content type | function | file |
//! | --- | --- | --- |
//! | `application/json-patch+json` | [`json_patch()`] | `json.rs` |
//! | `application/merge-patch+json` | [`merge_patch`] | `merge.rs` |
//! | `application/strategic-merge-patch+json` | [`strategic_merge_patch`] | `strategic.rs`, `lists.rs` |
//!
//! Every function changes the object in place, and leaves it unchanged when it fails. [`PatchError::code`] returns the
//! HTTP status of the response.

mod error;
mod json;
mod lists;
mod merge;
mod strategic;

pub(crate) use error::PatchError;
pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;
