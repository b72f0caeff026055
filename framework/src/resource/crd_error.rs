use std::fmt;

/// A kind whose Rust types Kubernetes cannot describe.
///
/// Most such types do not compile; what only the assembled schema shows ends here. One test per
/// kind, `Website::crd().unwrap()`, finds it before a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdError {
    /// The kind.
    pub kind: String,
    /// Path of the field within an object, such as `spec.pages[].tree`; empty for the kind itself.
    pub path: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// `Website: spec.tree: the type contains itself …`.
impl fmt::Display for CrdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for CrdError {}
