use crate::resource::{Step, show};

/// The steps of a way that is shown whole.
const LONGEST: usize = 32;

/// The way to what is wrong in a document, which is noted from its end while the error goes up. So it costs nothing as
/// long as nothing is wrong.
#[derive(Default)]
pub(super) struct Trail(Vec<Step>);

impl Trail {
    #[cold]
    pub(super) fn key(&mut self, key: String) {
        self.0.push(Step::Key(key));
    }

    #[cold]
    pub(super) fn index(&mut self, index: usize) {
        self.0.push(Step::Index(index));
    }

    /// The reason with its place: `spec.replicas: expected i32, found a string`. A long way is cut.
    #[cold]
    pub(super) fn lead_to(mut self, reason: String) -> String {
        self.0.reverse();
        let path = match self.0.get(..LONGEST) {
            Some(beginning) if self.0.len() > LONGEST => show(beginning) + "…",
            _ => show(&self.0),
        };
        at(&path, reason)
    }
}

/// The reason with its place, if that is not the whole document.
pub(super) fn at(path: &str, reason: String) -> String {
    match path {
        "" => reason,
        path => format!("{path}: {reason}"),
    }
}
