//! The subcommand behind `cargo pilothouse check`: tries the operator on an API server in this process, and lists what a reviewer would
//! find. It is hidden, because the tool calls it with the right files.
//!
//! `trial.rs` runs the operator with examples of its objects and looks at what it writes. `again.rs` reconciles them again while nothing changes, and
//! `restless.rs` says why a write then is one too many, and `probes.rs` which probes a container lacks. [`crd::breaking_changes`](crate::crd::breaking_changes)
//! compares the definitions with those that are committed.

mod again;
mod probes;
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
    /// Whether there are good programs that leave it as it is. The check passes with it.
    pub(in crate::operator) is_advice: bool,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
            fix: fix.into(),
            is_advice: false,
        }
    }

    fn advice(self) -> Self {
        Self {
            is_advice: true,
            ..self
        }
    }
}

/// What the check says at its end.
///
/// # Errors
/// The number of findings that are no advice, if there are any.
pub(in crate::operator) fn verdict(findings: &[Finding]) -> Result<&'static str, usize> {
    match findings.iter().filter(|one| !one.is_advice).count() {
        0 if findings.is_empty() => Ok("Nothing was found."),
        0 => Ok("Nothing else was found: the check has passed."),
        count => Err(count),
    }
}

impl From<BreakingChange> for Finding {
    fn from(change: BreakingChange) -> Self {
        Self::new(change.place, change.problem, change.fix)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = if self.is_advice { "advice: " } else { "" };
        writeln!(f, "{}: {advice}{}", self.place, self.problem)?;
        write!(f, "    {}", self.fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_passes_with_advice_and_counts_everything_else() {
        let wrong = || Finding::new("a", "it is wrong", "mend it");
        let advice = || wrong().advice();
        assert_eq!(verdict(&[]), Ok("Nothing was found."));
        let passed = Ok("Nothing else was found: the check has passed.");
        assert_eq!(verdict(&[advice(), advice()]), passed);
        assert_eq!(verdict(&[wrong(), advice(), wrong()]), Err(2));
        assert_eq!(wrong().to_string(), "a: it is wrong\n    mend it");
        assert_eq!(advice().to_string(), "a: advice: it is wrong\n    mend it");
    }
}
