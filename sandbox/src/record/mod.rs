//! What the sandbox remembers of the requests that it answered.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `recorded_request.rs` | [`RecordedRequest`] |
//! | `packed.rs` | the same in little memory |
//! | `request_log.rs` | the last requests |
//! | `audit.rs` | what is noted for the audit log while a request is answered |
//! | `audit_log.rs` | the audit log, a line for each request |
//! | `metrics.rs` | counters and durations of requests |

mod audit;
mod audit_log;
mod metrics;
mod packed;
mod recorded_request;
mod request_log;

pub(crate) use audit::Audit;
pub(crate) use audit_log::{AuditLog, Audited, Ending};
pub(crate) use metrics::{BUCKETS, Labels, Metrics};
pub use recorded_request::RecordedRequest;
pub(crate) use request_log::RequestLog;
