use prometheus::{IntCounter, Registry};

use super::families;

/// Counts reads of the certificates that servers present. Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct CertificateMetrics {
    /// Reads of a certificate and its key.
    pub reads: IntCounter,
    /// Reads that failed; [`reads`](Self::reads) counts them too.
    pub errors: IntCounter,
}

impl CertificateMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let of = |name, help| {
            families::counter(registry, name, help, &[]).with_label_values::<&str>(&[])
        };
        Self {
            reads: of(
                "certwatcher_read_certificate_total",
                "Reads of a certificate and its key, failed ones included.",
            ),
            errors: of(
                "certwatcher_read_certificate_errors_total",
                "Reads of a certificate and its key that failed.",
            ),
        }
    }
}
