use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Registry};

use super::families;

/// The versions of the program, and what it was built with.
#[derive(Clone, Debug)]
pub(super) struct BuildFamilies {
    info: IntGaugeVec,
}

impl BuildFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        Self {
            info: families::int_gauge(
                registry,
                "pilothouse_build_info",
                "Always 1. The labels name the operator and its version, and the versions of the framework, the compiler and the Kubernetes types that it was built with.",
                &[
                    "operator",
                    "operator_version",
                    "version",
                    "rustc",
                    "kubernetes",
                ],
            ),
        }
    }

    pub(super) fn built(&self, operator: &str, version: &str) {
        let labels = [
            operator,
            version,
            env!("CARGO_PKG_VERSION"),
            env!("PILOTHOUSE_RUSTC"),
            env!("PILOTHOUSE_KUBERNETES"),
        ];
        self.info.with_label_values(&labels).set(1);
    }
}

/// Counts panics of background tasks.
#[derive(Clone, Debug)]
pub(super) struct TaskFamilies {
    panics: IntCounterVec,
}

impl TaskFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        Self {
            panics: families::counter(
                registry,
                "operator_task_panics_total",
                "Panics of background tasks, by task. Each of them stops the operator.",
                &["task"],
            ),
        }
    }

    pub(super) fn panics(&self, task: &str) -> IntCounter {
        self.panics.with_label_values(&[task])
    }
}
