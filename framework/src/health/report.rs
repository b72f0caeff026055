use std::fmt;

/// The result of the checks of one endpoint.
///
/// Its text is the body of the response: `ok` if all checks pass and the request is not `verbose`.
/// Otherwise it has one line for each check and a last line with the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub(super) endpoint: String,
    pub(super) verbose: bool,
    pub(super) entries: Vec<Entry>,
    pub(super) unknown: Vec<String>,
}

/// One check's line in a [`Report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the check.
    pub name: String,
    /// Result of the check.
    pub outcome: Outcome,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The part works.
    Ok,
    /// The part works, with these details.
    OkWithDetails(String),
    /// The request excluded the check, and it did not run.
    Excluded,
    /// The part does not work, for this reason.
    Failed(String),
}

impl Report {
    /// Whether every check that ran has passed.
    pub fn healthy(&self) -> bool {
        !self
            .entries
            .iter()
            .any(|entry| matches!(entry.outcome, Outcome::Failed(_)))
    }

    /// The checks in the order in which they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let healthy = self.healthy();
        if healthy && !self.verbose {
            return f.write_str("ok");
        }
        for Entry { name, outcome } in &self.entries {
            match outcome {
                Outcome::Ok => writeln!(f, "[+]{name} ok")?,
                Outcome::OkWithDetails(how) => writeln!(f, "[+]{name} ok: {}", one_line(how))?,
                Outcome::Excluded => writeln!(f, "[+]{name} excluded: ok")?,
                Outcome::Failed(reason) => {
                    writeln!(f, "[-]{name} failed: {}", one_line(reason))?;
                }
            }
        }
        if !self.unknown.is_empty() {
            // Quoted names stay on one line, whatever characters they contain.
            let names: Vec<String> = self
                .unknown
                .iter()
                .map(|name| format!("{name:?}"))
                .collect();
            let names = names.join(",");
            writeln!(
                f,
                "warn: some health checks cannot be excluded: no matches for {names}"
            )?;
        }
        let verdict = if healthy { "passed" } else { "failed" };
        writeln!(f, "{} check {verdict}", self.endpoint)
    }
}

/// Joins a text into one line, because each check gets one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
