use std::fmt;

/// A change of a definition by which stored objects or clients lose something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct BreakingChange {
    /// The definition, the version and the field, such as `websites.demo.example.com v1 .spec.replicas`.
    pub place: String,
    /// What is lost.
    pub problem: String,
    /// What to do instead.
    pub fix: &'static str,
}

impl BreakingChange {
    pub(super) fn new(
        place: impl Into<String>,
        problem: impl Into<String>,
        fix: &'static str,
    ) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
            fix,
        }
    }
}

/// The change on one line, and what to do on the next.
impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.place, self.problem, self.fix)
    }
}
