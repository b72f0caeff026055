//! How a controller is doing: for readiness checks, and for people who look into a running process.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `controller_status.rs` | [`ControllerStatus`]: the phase, what the controller waits for, how many objects fail |
//! | `controller_report.rs` | [`ControllerReport`]: the state of the single keys |
//! | `object_report.rs` | [`ObjectReport`]: what happened to one object, and its children |

mod controller_report;
mod controller_status;
mod object_report;

pub use controller_report::{ControllerReport, FailureReport, KeyActivity, KeyReport};
pub use controller_status::ControllerStatus;
pub use object_report::{ChildReport, ObjectReport};
