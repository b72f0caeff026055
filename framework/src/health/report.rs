use std::fmt;

/// What came of running the checks of one endpoint.
///
/// Its text is the body of the answer: `ok` when all is well and nobody asked for more, otherwise
/// one line for each check and a last line with the verdict.
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
    /// What it said.
    pub outcome: Outcome,
}

/// What one check said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The part is well.
    Ok,
    /// The part is well, and this is how.
    Told(String),
    /// The caller asked not to count it; it was not run.
    Excluded,
    /// Why it is not well.
    Failed(String),
}

impl Report {
    /// Whether no check failed.
    pub fn healthy(&self) -> bool {
        !self
            .entries
            .iter()
            .any(|entry| matches!(entry.outcome, Outcome::Failed(_)))
    }

    /// Each check that was asked, in the order in which they were added.
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
                Outcome::Told(how) => writeln!(f, "[+]{name} ok: {}", one_line(how))?,
                Outcome::Excluded => writeln!(f, "[+]{name} excluded: ok")?,
                Outcome::Failed(reason) => {
                    writeln!(f, "[-]{name} failed: {}", one_line(reason))?;
                }
            }
        }
        if !self.unknown.is_empty() {
            // Quoted, they stay on one line whatever they hold.
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

/// One line per check, whatever a text holds.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
