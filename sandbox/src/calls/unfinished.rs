use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::error::ApiError;

/// The most failed writes that are remembered.
const LIMIT: usize = 1024;

/// Writes of the sandbox's own controllers that wait for a webhook.
///
/// A controller does not wait: its write goes on in a task, and the controller looks at the object again when it has ended. A controller that tries
/// the same write meanwhile is told so.
#[derive(Default)]
pub(crate) struct Unfinished {
    /// `None` while a write waits, then its failure.
    writes: Mutex<BTreeMap<String, Option<ApiError>>>,
    ended: watch::Sender<()>,
}

/// What is known of a write.
pub(crate) enum Known {
    Nothing,
    Waits,
    Failed(ApiError),
}

impl Unfinished {
    /// What is known of a write. A failure is told once.
    pub(crate) fn take(&self, write: &str) -> Known {
        let mut writes = self.writes.lock();
        match writes.get(write) {
            None => Known::Nothing,
            Some(None) => Known::Waits,
            Some(Some(_)) => match writes.remove(write).flatten() {
                Some(error) => Known::Failed(error),
                None => Known::Nothing,
            },
        }
    }

    pub(crate) fn begin(&self, write: String) {
        let mut writes = self.writes.lock();
        if writes.len() >= LIMIT {
            // Nobody has asked for these failures.
            writes.retain(|_, failure| failure.is_none());
        }
        writes.insert(write, None);
    }

    pub(crate) fn end(&self, write: String, failure: Option<ApiError>) {
        let mut writes = self.writes.lock();
        writes.remove(&write);
        if failure.is_some() {
            writes.insert(write, failure);
        }
        drop(writes);
        self.ended.send_replace(());
    }

    /// Tells of each write that has ended.
    pub(crate) fn ended(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }
}
