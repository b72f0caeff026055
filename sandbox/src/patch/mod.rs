//! The patch formats a client may send, other than apply.
//!
//! | content type | function |
//! | --- | --- |
//! | `application/json-patch+json` | [`json_patch()`] |
//! | `application/merge-patch+json` | [`merge_patch`] |
//! | `application/strategic-merge-patch+json` | [`strategic_merge_patch`] |
//!
//! All change the object in place and leave it as it was when they fail. A [`PatchError`] knows the HTTP status the API
//! server answers.

mod error;
mod json;
mod lists;
mod merge;
mod strategic;

pub use error::PatchError;
pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;
