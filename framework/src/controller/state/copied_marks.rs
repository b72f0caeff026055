use std::collections::HashMap;

use tokio::time::Instant;

use crate::cache::ReportLimit;

/// Objects with the mark of a detached child that the operator did not write: each version is read from the server only
/// once, whomever the mark names.
#[derive(Debug)]
pub(crate) struct CopiedMarks {
    /// Resource versions by UID.
    versions: HashMap<String, String>,
    reports: ReportLimit,
}

/// Somebody may write marks without end. Past this number all of them are read once more.
const MOST: usize = 100_000;

impl CopiedMarks {
    pub(crate) fn new() -> Self {
        Self {
            versions: HashMap::new(),
            reports: ReportLimit::new(Instant::now()),
        }
    }

    pub(crate) fn contains(&self, uid: &str, version: &str) -> bool {
        self.versions.get(uid).is_some_and(|known| known == version)
    }

    /// Notes an object. Returns how many were not reported before it if it is to be reported: once per UID, and not too often.
    pub(crate) fn note(&mut self, uid: &str, version: &str) -> Option<u64> {
        if self.versions.len() >= MOST {
            self.versions.clear();
        }
        let known = self.versions.insert(uid.to_owned(), version.to_owned());
        match known {
            Some(_) => None,
            None => self.reports.take(Instant::now()),
        }
    }
}
