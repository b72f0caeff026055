use prometheus::{IntCounter, Registry};

use super::metrics;

/// Reading of the certificates that servers show. Cloning shares the series.
#[derive(Clone, Debug)]
pub struct CertificateMetrics {
    /// Times that a certificate and its key were read.
    pub reads: IntCounter,
    /// Times among them that gave nothing to show.
    pub errors: IntCounter,
}

impl CertificateMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let of =
            |name, help| metrics::counter(registry, name, help, &[]).with_label_values::<&str>(&[]);
        Self {
            reads: of(
                "certwatcher_read_certificate_total",
                "Total number of certificate reads",
            ),
            errors: of(
                "certwatcher_read_certificate_errors_total",
                "Total number of certificate read errors",
            ),
        }
    }
}
