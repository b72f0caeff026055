//! A page of the operator for people: what it does just now, and what it waits for.

mod report;
mod routes;

pub use report::{DebugReport, InformerReport, QuarantinedReport};
pub(super) use routes::Debug;
