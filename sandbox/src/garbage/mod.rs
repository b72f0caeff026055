//! Garbage collection: an object goes when all its owners are gone.
//!
//! A [`Collector`] follows every kind that is served and knows who refers to whom, by UID. An owner reference leads to an owner
//! of the kind and name it tells, in the namespace of the dependent; if there is none with that UID the owner is absent:
//!
//! - All owners absent: the dependent is deleted, in the background unless its own finalizers say otherwise.
//! - Some absent, or waiting for their dependents: these references are taken out, the dependent stays.
//! - An owner that is deleted in the foreground (finalizer `foregroundDeletion`) has its dependents deleted first, and goes once
//!   none is left that blocks it (`blockOwnerDeletion`).
//! - An owner that is deleted with the finalizer `orphan` has its references taken out of its dependents, then goes.
//! - A cluster-scoped dependent of a namespaced kind cannot be resolved and stays; one whose owner lives in another namespace
//!   counts as having an absent owner. Both are reported by an Event `OwnerRefInvalidNamespace`.
//! - An owner of a kind that is not served is not absent: the dependent waits until the kind is.
//!
//! It works when something has changed and never by time, so tests on a paused clock see the same order every time.

mod collector;
mod graph;
mod owner;
#[cfg(test)]
mod tests;

pub(crate) use collector::Collector;
