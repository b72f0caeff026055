//! The debug page: what the operator does now, and what it waits for.
//!
//! `report.rs` collects the state ([`DebugReport`]); `objects.rs` finds objects and tells what happened to one
//! ([`ObjectReport`](crate::controller::ObjectReport)); `routes.rs` serves both as JSON and as `page.html`.

mod objects;
mod report;
mod routes;

pub use report::{DebugReport, InformerReport, UndecodableReport};
pub(super) use routes::DebugPage;
