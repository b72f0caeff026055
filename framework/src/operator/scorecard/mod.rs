//! The subcommand behind `cargo pilothouse check`: tries the operator on an API server in this process, and lists what a reviewer would
//! find. It is hidden, because the tool calls it with the right files.
//!
//! `trial.rs` runs the operator with examples of its objects and looks at what it writes. `again.rs` reconciles them again while nothing changes, and
//! `restless.rs` says why a write then is one too many. [`crd::breaking_changes`](crate::crd::breaking_changes)
//! compares the definitions with those that are committed.

mod again;
mod restless;
mod trial;

use std::fmt;

pub(in crate::operator) use trial::Trial;

use crate::crd::BreakingChange;

/// What should be better.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::operator) struct Finding {
    /// The object, the field or the function.
    pub(in crate::operator) place: String,
    pub(in crate::operator) problem: String,
    /// What to do.
    pub(in crate::operator) fix: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

impl From<BreakingChange> for Finding {
    fn from(change: BreakingChange) -> Self {
        Self::new(change.place, change.problem, change.fix)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.place, self.problem)?;
        write!(f, "    {}", self.fix)
    }
}
