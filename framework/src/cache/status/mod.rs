//! How informers are doing: what they report to people, logs and metrics.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `informer_status.rs` | [`InformerStatus`], [`InformerMode`] and [`NamespaceStatus`] |
//! | `informer_failure.rs` | [`InformerFailure`], and the functions that receive it |
//! | `progress.rs` | [`Progress`]: what a reflector and an informer's task report while they work |
//! | `report_limit.rs` | limits the reports about single objects |
//! | `error_hint.rs` | what would fix a request that the server refuses |

mod error_hint;
mod informer_failure;
mod informer_status;
mod progress;
mod report_limit;

pub(crate) use error_hint::{error_hint, joined};
pub use informer_failure::InformerFailure;
pub(super) use informer_failure::{FailureHandler, FailureHandlers};
pub use informer_status::{InformerMode, InformerStatus, NamespaceStatus};
pub(super) use progress::{Progress, metrics_of};
pub(crate) use report_limit::ReportLimit;
