//! What the user's code works with during one call: cached reads, and writes that know the reconciled object.
//!
//! A [`Context`] belongs to one call for one key. All contexts of a controller share one [`SharedContext`]. The methods of
//! `Context` stand in these files:
//!
//! | file | methods |
//! | --- | --- |
//! | `context.rs` | `key`, `finalizer`, `now`, `cancellation`, `sources`, `live`, `event`, `uncached` |
//! | `blocking.rs` | `blocking` |
//! | `reads.rs` | `get`, `get_in`, `get_of`, `list`, `list_in`, `list_all`, `list_owned`, `lister_of` |
//! | `indexed.rs` | `indexed`, `indexed_of`, `index_values`, `index_values_of` |
//! | `apply.rs`, `apply_detached.rs` | `apply` and its variants: skip a request that would change nothing, or send it |
//! | `adopt.rs` | `claim`, `adopt`, `release` |
//! | `writes.rs` | `create`, `update`, `patch`, and `create_of`, `update_of`, `patch_of` for kinds known only at run time; `delete`, `delete_of`, `delete_with` |
//! | `update_status.rs` | `update_status`, `modify_status` |
//! | `send.rs` | private: the way of every request that writes, with what read-your-writes has to know of it |
//!
//! The other files hold what these methods need: `child.rs` ([`Child`]: options of an apply), `apply_body.rs` (the body of an apply), `ready_condition.rs` (the condition
//! that the framework sets), `fingerprints.rs` (hashes of what was sent), and `call_notes.rs` (what the contexts of one call share:
//! the children that it asked for, the undecodable objects that it read, the status that it wrote). `written_objects/` lets reads show what the call wrote.

mod adopt;
mod apply;
mod apply_body;
mod apply_detached;
mod blocking;
mod call_notes;
mod child;
mod context;
mod fingerprints;
mod indexed;
mod reads;
mod ready_condition;
mod send;
mod update_status;
mod writes;
mod written_objects;

pub(crate) use apply_detached::FirstApplies;
pub use child::Child;
pub(crate) use context::SharedContext;
pub use context::{Context, Uncached};
pub(crate) use fingerprints::Fingerprints;
pub(crate) use ready_condition::{
    CLEANUP_FAILED, CLEANUP_WAITING, RECONCILE_FAILED, RECONCILE_WAITING, RECONCILED,
    ReadyCondition, ReadyUpdate, SUCCEEDED, set_ready,
};
pub(crate) use send::with_verb;
