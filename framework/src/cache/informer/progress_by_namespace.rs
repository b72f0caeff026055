use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::cache::{InformerMode, InformerStatus, joined, status::Progress};

/// The progress of each namespace that is read; the key `None` means all namespaces.
#[derive(Default)]
pub(super) struct ProgressByNamespace(Mutex<BTreeMap<Option<String>, Arc<Progress>>>);

impl ProgressByNamespace {
    pub(super) fn insert(&self, namespace: Option<String>, progress: Progress) -> Arc<Progress> {
        let progress = Arc::new(progress);
        self.0.lock().insert(namespace, progress.clone());
        progress
    }

    pub(super) fn remove(&self, namespace: &Option<String>) {
        self.0.lock().remove(namespace);
    }

    /// Reports that the first list of the namespace has been processed.
    pub(super) fn synced(&self, namespace: &Option<String>) {
        if let Some(progress) = self.0.lock().get(namespace) {
            progress.synced();
        }
    }

    /// Whether each namespace is known to hold all changes that the API server had made by `moment`, or by any moment
    /// if it is `None`.
    pub(super) fn are_consistent_since(&self, moment: Option<Instant>) -> bool {
        let mut namespaces = self.all().into_iter();
        namespaces.all(|progress| progress.is_consistent_since(moment))
    }

    /// Reports that the objects of `namespace` include all changes that the API server had made by `moment`.
    pub(super) fn became_consistent(&self, namespace: Option<&str>, moment: Instant) {
        let namespaces = self.all().into_iter();
        let namespaces = namespaces.filter(|progress| progress.is_of(namespace));
        namespaces.for_each(|progress| progress.became_consistent(moment));
    }

    /// Adds to the status of the informer what the namespaces report.
    pub(super) fn complete(&self, whole: InformerStatus) -> InformerStatus {
        let namespaces = self.all();
        let errors: Vec<String> = namespaces
            .iter()
            .filter_map(|progress| progress.last_error())
            .collect();
        let last_error = (!errors.is_empty()).then(|| joined(errors));
        let busy = |mode: &InformerMode| *mode != InformerMode::Watching;
        let mode = namespaces.iter().map(|progress| progress.mode()).find(busy);
        InformerStatus {
            mode: mode.filter(|_| !busy(&whole.mode)).unwrap_or(whole.mode),
            last_error,
            not_served: namespaces.iter().any(|progress| progress.not_served()),
            forbidden: namespaces.iter().any(|progress| progress.forbidden()),
            unhealthy_for: namespaces
                .iter()
                .filter_map(|progress| progress.unhealthy_for())
                .max(),
            silent_for: namespaces
                .iter()
                .filter_map(|progress| progress.silent_for())
                .max(),
            namespaces: namespaces
                .iter()
                .map(|progress| progress.status())
                .collect(),
            ..whole
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Progress>> {
        self.0.lock().values().cloned().collect()
    }
}
