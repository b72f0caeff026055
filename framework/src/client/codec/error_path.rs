use crate::resource::{PathStep, format_path};

/// A path with more steps than this is cut.
const LONGEST: usize = 32;

/// The path to an error in a document. The steps are recorded from the end while the error is returned, so a path costs
/// nothing if there is no error.
#[derive(Default)]
pub(super) struct ErrorPath(Vec<PathStep>);

impl ErrorPath {
    #[cold]
    pub(super) fn key(&mut self, key: String) {
        self.0.push(PathStep::Key(key));
    }

    #[cold]
    pub(super) fn index(&mut self, index: usize) {
        self.0.push(PathStep::Index(index));
    }

    /// The reason with its path: `spec.replicas: expected i32, found a string`. A long path is cut.
    #[cold]
    pub(super) fn describe(mut self, reason: String) -> String {
        self.0.reverse();
        let path = match self.0.get(..LONGEST) {
            Some(beginning) if self.0.len() > LONGEST => format_path(beginning) + "…",
            _ => format_path(&self.0),
        };
        at(&path, reason)
    }
}

/// The reason with its path, unless the path is the whole document.
pub(super) fn at(path: &str, reason: String) -> String {
    match path {
        "" => reason,
        path => format!("{path}: {reason}"),
    }
}
