//! The exit codes; the table stands on the module's page and in the book.

use std::process::ExitCode;

use super::OperatorError;
use crate::election::EXIT_OVERDUE;

/// It could not start, or a part of it failed.
pub(super) const FAILED: u8 = 1;
/// Work still ran when it had to have ended. The same as where the lease's watchman ends the process.
pub(super) const OVERTIME: u8 = EXIT_OVERDUE as u8;
/// Leadership was lost, and all work ended in time.
pub(super) const LEADERSHIP_LOST: u8 = 4;
/// A second signal, as shells report an interrupt.
pub(super) const INTERRUPTED: u8 = 130;

impl OperatorError {
    /// With which code a process ends for this reason, for programs with a `main` of their own; the table is on the
    /// [module's page](super).
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(super) fn code(&self) -> u8 {
        match self {
            Self::LeadershipLost { .. } => LEADERSHIP_LOST,
            Self::Overtime => OVERTIME,
            _ => FAILED,
        }
    }
}
