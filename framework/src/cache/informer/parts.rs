use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use crate::cache::{InformerMode, InformerStatus, progress::Progress};

/// What is told of each namespace that is read; `None` is all of them.
#[derive(Default)]
pub(super) struct PartsProgress(Mutex<BTreeMap<Option<String>, Arc<Progress>>>);

impl PartsProgress {
    pub(super) fn insert(&self, namespace: Option<String>, progress: Progress) -> Arc<Progress> {
        let progress = Arc::new(progress);
        self.lock().insert(namespace, progress.clone());
        progress
    }

    pub(super) fn remove(&self, namespace: &Option<String>) {
        self.lock().remove(namespace);
    }

    /// The first list of the namespace was worked on.
    pub(super) fn synced(&self, namespace: &Option<String>) {
        if let Some(progress) = self.lock().get(namespace) {
            progress.synced();
        }
    }

    /// Whether each namespace is known to hold all changes that the API server had made by `moment`, or by any.
    pub(super) fn are_consistent_since(&self, moment: Option<Instant>) -> bool {
        let mut parts = self.all().into_iter();
        parts.all(|part| part.is_consistent_since(moment))
    }

    /// What is read of `namespace` holds all changes that the API server had made by `moment`.
    pub(super) fn became_consistent(&self, namespace: Option<&str>, moment: Instant) {
        let parts = self.all().into_iter();
        let parts = parts.filter(|part| part.is_of(namespace));
        parts.for_each(|part| part.became_consistent(moment));
    }

    /// The status of the whole with what the parts tell.
    pub(super) fn complete(&self, whole: InformerStatus) -> InformerStatus {
        let parts = self.all();
        let mut errors = parts.iter().filter_map(|part| part.last_error());
        let first_error = errors.next();
        let last_error = first_error.map(|error| match errors.count() {
            0 => error,
            others => format!("{error} (and {others} more)"),
        });
        let busy = |mode: &InformerMode| *mode != InformerMode::Watching;
        let mode = parts.iter().map(|part| part.mode()).find(busy);
        InformerStatus {
            mode: mode.filter(|_| !busy(&whole.mode)).unwrap_or(whole.mode),
            last_error,
            failing_for: parts.iter().filter_map(|part| part.failing_for()).max(),
            not_served: parts.iter().any(|part| part.not_served()),
            forbidden: parts.iter().any(|part| part.forbidden()),
            silent_for: parts.iter().filter_map(|part| part.silent_for()).max(),
            parts: parts.iter().map(|part| part.status()).collect(),
            ..whole
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Progress>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<String>, Arc<Progress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
