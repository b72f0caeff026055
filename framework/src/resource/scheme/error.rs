use std::fmt;

/// What is wrong with a manifest and where: `document 2, line 10: spec.replicas: expected i32, found a string`.
///
/// It names paths and what was expected, never a value: a manifest may hold a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestError {
    /// Which document, counted from 1; those with nothing in them do not count.
    pub document: usize,
    /// The line in the whole text, counted from 1.
    pub line: usize,
    /// The place within the document, such as `items[1].spec.replicas`; empty for the whole.
    pub path: String,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}, line {}: ", self.document, self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ManifestError {}
