//! What happened to each object: why it was reconciled, how long that took, what it wrote, and how it ended. For people who look
//! into a running process.
//!
//! It is recorded only if the operator serves its debug page. Then each event and each write costs one more encoding of its
//! object. Contents of objects are never recorded, only the names of the fields that changed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `history.rs` | [`History`]: the records of one controller, within a limit |
//! | `record.rs` | the records of one object |
//! | `difference.rs` | which fields differ between two versions of an object |
//! | `report.rs` | [`ReconcileReport`], [`CauseReport`] and [`WriteReport`]: the records as a person reads them |

mod difference;
#[expect(clippy::module_inception)]
mod history;
mod record;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use difference::{changed_fields, whole};
pub(crate) use history::{Ended, History};
pub use report::{CauseReport, ReconcileReport, WriteReport};
