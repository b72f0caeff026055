//! The debug page: what the operator does now, and what it waits for.
//!
//! `report.rs` collects the state ([`DebugReport`]); `routes.rs` serves it as JSON and as `page.html`.

mod report;
mod routes;

pub use report::{DebugReport, InformerReport, UndecodableReport};
pub(super) use routes::DebugPage;
