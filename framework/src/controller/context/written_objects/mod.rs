//! What one call wrote, for the reads of the same call: they show it although the cache may not have it yet.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `write_log.rs` | [`WriteLog`](write_log::WriteLog): what was written, by object, as the server answered it |
//! | `written_state.rs` | [`WrittenState`](written_state::WrittenState): what the state of a cache becomes with the writes that it does not have |
//! | `written_objects.rs` | [`WrittenObjects`]: both, for the contexts of a call |

mod write_log;
mod written_objects;
mod written_state;

pub(super) use write_log::{Answer, Gone, Stored};
pub(super) use written_objects::WrittenObjects;
