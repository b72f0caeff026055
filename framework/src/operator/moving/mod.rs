//! The commands `uninstall` and `adopt-from`: they change what an operator has written to the objects of a cluster, while no
//! operator runs.
//!
//! Both connect with the rights of the person who runs them, and build no reconciler. They learn from `wire`, or from
//! [`Operator::wiring`](super::Operator::wiring), which kinds the controllers write. Each write names the resource version that
//! was read; after a conflict the change is worked out again for the newest object.
//!
//! `uninstall` removes the finalizers of the operator from its objects, and prints the `kubectl delete` commands for the rest.
//!
//! `adopt-from` takes over the objects of an operator that this one replaces. It moves fields from the former field manager to the
//! entry of this operator's server-side apply. So an apply without such a field removes it. It also replaces the former finalizer.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `commands.rs` | both commands, from their flags |
//! | `objects.rs` | lists and reads the objects of a kind |
//! | `lease_holder.rs` | whether a process holds a Lease |
//! | `report.rs` | [`Report`]: what a command prints |
//! | `uninstall.rs`, `remains.rs` | [`Uninstall`]; the `kubectl delete` commands |
//! | `adopt_from.rs` | [`AdoptFrom`] |
//! | `adoption.rs`, `field_set.rs` | the change of one object; sets of fields as `managedFields` has them |

mod adopt_from;
mod adoption;
mod commands;
mod field_set;
mod lease_holder;
mod objects;
mod remains;
mod report;
mod uninstall;

#[cfg(test)]
mod tests;

pub(super) use adopt_from::{FinalizerExchange, LeaseName};
pub(super) use report::Report;
