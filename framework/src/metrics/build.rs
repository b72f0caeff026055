use prometheus::{IntGaugeVec, Registry};

use super::metrics;

/// What the program is and was built with.
#[derive(Clone, Debug)]
pub(super) struct BuildFamilies {
    info: IntGaugeVec,
}

impl BuildFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        Self {
            info: metrics::int_gauge(
                registry,
                "pilothouse_build_info",
                "Always 1: the operator and its version, and the versions of the framework, of the compiler, and of the Kubernetes types that it was built with.",
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
