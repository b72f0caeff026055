use prometheus::{IntCounter, IntCounterVec, Registry};

use super::metrics;

/// Panics of background tasks.
#[derive(Clone, Debug)]
pub(super) struct TaskFamilies {
    panics: IntCounterVec,
}

impl TaskFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        Self {
            panics: metrics::counter(
                registry,
                "operator_task_panics_total",
                "Panics of background tasks, each of which stops the operator. 'task' says which.",
                &["task"],
            ),
        }
    }

    pub(super) fn panics(&self, task: &str) -> IntCounter {
        self.panics.with_label_values(&[task])
    }
}
