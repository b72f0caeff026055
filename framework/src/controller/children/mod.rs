//! Children that the controller itself has to delete.
//!
//! The garbage collector of Kubernetes deletes children with an owner reference. Two sorts are left to the controller:
//!
//! * Detached children have no owner reference. The finalizer of their owner deletes them.
//! * Pruned children are those that a successful reconcile did not apply any more.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `children.rs` | [`Children`]: the declared kinds, and how their children are found |
//! | `removal.rs` | how a child is deleted: as it was seen, and a detached child only if this operator marked it |

mod children;
mod removal;

pub(crate) use children::{Children, remove_orphans};
