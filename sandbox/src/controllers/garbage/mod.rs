//! The garbage collector: deletes an object when all its owners are gone.
//!
//! A [`Collector`] follows every kind that is served and records by UID which object refers to which. An owner
//! reference leads to an owner of its kind and name in the namespace of the dependent. If no such object with that UID
//! exists, the owner is absent:
//!
//! - If all owners are absent, the collector deletes the dependent, in the background unless the dependent's own
//!   finalizers say otherwise.
//! - If some owners are absent or wait for their dependents, the collector removes these references and the dependent
//!   stays.
//! - If an owner is deleted in the foreground (finalizer `foregroundDeletion`), the collector deletes its dependents
//!   first. The owner goes when no dependent that blocks it (`blockOwnerDeletion`) is left.
//! - If an owner is deleted with the finalizer `orphan`, the collector removes the references from its dependents, then
//!   the owner goes.
//! - A cluster-scoped dependent of a namespaced kind cannot be resolved and stays. An owner in another namespace counts
//!   as absent. The collector reports both with an Event `OwnerRefInvalidNamespace`.
//! - An owner of a kind that is not served is not absent: the dependent waits until the kind is served.
//! - If dependents wait for each other in a circle, the collector first lets a dependent block none of its owners.
//!
//! A write that fails is tried again, after 5 ms and then after twice the last time, at most after 1000 s. An owner keeps its
//! finalizer until the writes to its dependents have succeeded. Apart from that the collector works when something has changed and
//! never by time, so tests on a paused clock see the same order every time.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `collector.rs` | the collector |
//! | `graph.rs` | objects and their dependents |
//! | `owner.rs` | one owner reference |

mod collector;
mod graph;
mod owner;
#[cfg(test)]
mod tests;

pub(crate) use collector::Collector;
