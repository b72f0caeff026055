use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGauge, Registry};

use super::{ExecMetrics, Share, buckets, metrics};

/// What a client sends; cloning shares the series.
///
/// `verb` and `method` are the HTTP method, `host` is `name:port` of the API server.
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: IntCounterVec,
    retries: IntCounterVec,
    durations: HistogramVec,
    request_sizes: HistogramVec,
    response_sizes: HistogramVec,
    limiter: HistogramVec,
    dns: HistogramVec,
    transports: IntGauge,
    ca_reloads: IntCounterVec,
    /// The credential plugins.
    pub exec: ExecMetrics,
}

impl ClientMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let histogram = |name, help, labels: &[&str], buckets| {
            metrics::histogram(registry, name, help, labels, buckets)
        };
        Self {
            requests: metrics::counter(
                registry,
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "method", "host"],
            ),
            retries: metrics::counter(
                registry,
                "rest_client_request_retries_total",
                "Requests that were sent once more, by the outcome of that.",
                &["code", "verb", "host"],
            ),
            durations: histogram(
                "rest_client_request_duration_seconds",
                "Time from a request to the end of its answer, repetitions included, watches not.",
                &["verb", "host"],
                buckets::request_seconds(),
            ),
            request_sizes: histogram(
                "rest_client_request_size_bytes",
                "Size of the requests' bodies.",
                &["verb", "host"],
                buckets::request_bytes(),
            ),
            response_sizes: histogram(
                "rest_client_response_size_bytes",
                "Size of the answers' bodies, as they are read.",
                &["verb", "host"],
                buckets::request_bytes(),
            ),
            limiter: histogram(
                "rest_client_rate_limiter_duration_seconds",
                "Time for which the client held requests back.",
                &["verb", "host"],
                buckets::request_seconds(),
            ),
            dns: histogram(
                "rest_client_dns_resolution_duration_seconds",
                "Time that the look-up of a host's addresses took.",
                &["host"],
                buckets::request_seconds(),
            ),
            transports: metrics::int_gauge(
                registry,
                "rest_client_transport_cache_entries",
                "Transports that are there. Each client has one of its own, and one more where its connections are kept apart.",
                &[],
            )
            .with_label_values::<&str>(&[]),
            ca_reloads: metrics::counter(
                registry,
                "rest_client_transport_ca_reload_total",
                "Readings of a file of certificate authorities, by what came of them.",
                &["result", "reason"],
            ),
            exec: ExecMetrics::register(registry),
        }
    }

    /// Makes the series that a client of `host` has before anything is held back or repeated, at zero.
    pub(crate) fn begin(&self, host: &str) {
        for method in METHODS {
            self.limiter.with_label_values(&[method, host]);
            let labels = ["<error>", method, host];
            self.retries.with_label_values(&labels);
        }
    }

    /// Counts a transport until what this gives is dropped.
    pub(crate) fn transport(&self) -> Share {
        let share = Share::of(&self.transports);
        share.set(1);
        share
    }

    /// Counts one attempt to send a request.
    ///
    /// `code` is the answer's HTTP status, `None` when there was no answer (written `<error>`).
    pub fn request(&self, code: Option<u16>, method: &str, host: &str) {
        with_code(code, |code| {
            let labels = [code, known(method), host];
            self.requests.with_label_values(&labels).inc();
        });
    }

    /// Counts an attempt after the first of one request, by its outcome.
    pub fn retry(&self, code: Option<u16>, method: &str, host: &str) {
        with_code(code, |code| {
            let labels = [code, known(method), host];
            self.retries.with_label_values(&labels).inc();
        });
    }

    /// Records how long a request took, all attempts and the answer's body included.
    pub fn duration(&self, method: &str, host: &str, time: Duration) {
        let series = self.durations.with_label_values(&[known(method), host]);
        series.observe(time.as_secs_f64());
    }

    /// Records the size of a request's body.
    pub fn request_size(&self, method: &str, host: &str, bytes: u64) {
        observe_bytes(&self.request_sizes, method, host, bytes);
    }

    /// Records the size of an answer's body.
    pub fn response_size(&self, method: &str, host: &str, bytes: u64) {
        observe_bytes(&self.response_sizes, method, host, bytes);
    }

    /// Records how long the client held a request back.
    pub fn held_back(&self, method: &str, host: &str, time: Duration) {
        let series = self.limiter.with_label_values(&[known(method), host]);
        series.observe(time.as_secs_f64());
    }

    /// Counts the reading of a file of certificate authorities.
    pub fn ca_reload(&self, outcome: CaReload) {
        let labels = match outcome {
            CaReload::Unchanged => ["success", "unchanged"],
            CaReload::Updated => ["success", "updated"],
            CaReload::Unreadable => ["failure", "read_error"],
            CaReload::Empty => ["failure", "empty"],
            CaReload::Unusable => ["failure", "ca_parse_error"],
        };
        self.ca_reloads.with_label_values(&labels).inc();
    }

    /// Records how long the look-up of the addresses of `host` took.
    pub fn dns_resolution(&self, host: &str, time: Duration) {
        let series = self.dns.with_label_values(&[host]);
        series.observe(time.as_secs_f64());
    }
}

/// What came of reading a file of certificate authorities again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaReload {
    /// It holds what it held before.
    Unchanged,
    /// Others count from now on.
    Updated,
    /// It cannot be read; those read before count on.
    Unreadable,
    /// Nothing stands in it; those read before count on.
    Empty,
    /// No authority that can be used stands in it; those read before count on.
    Unusable,
}

fn observe_bytes(family: &HistogramVec, method: &str, host: &str, bytes: u64) {
    // Sizes beyond 2^53 do not matter.
    #[allow(clippy::cast_precision_loss)]
    let bytes = bytes as f64;
    let series = family.with_label_values(&[known(method), host]);
    series.observe(bytes);
}

fn with_code(code: Option<u16>, count: impl FnOnce(&str)) {
    let mut digits = [0; 3];
    count(match code {
        Some(code @ 100..=999) => {
            for (place, digit) in [100, 10, 1].into_iter().zip(&mut digits) {
                *digit = b'0' + u8::try_from(code / place % 10).unwrap_or_default();
            }
            std::str::from_utf8(&digits).unwrap_or("<error>")
        }
        _ => "<error>",
    });
}

/// The methods of Kubernetes' API.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Methods are a closed set, so that no caller can make series without bound.
fn known(method: &str) -> &'static str {
    METHODS
        .into_iter()
        .chain(["HEAD", "OPTIONS"])
        .find(|known| known.eq_ignore_ascii_case(method))
        .unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use crate::metrics::Metrics;

    #[test]
    fn requests_are_counted_by_code_method_and_host() {
        let metrics = Metrics::new();
        metrics
            .client()
            .request(Some(409), "PATCH", "localhost:6443");
        metrics.client().request(None, "GET", "localhost:6443");
        let text = metrics.encode();
        for line in [
            "rest_client_requests_total{code=\"409\",host=\"localhost:6443\",method=\"PATCH\"} 1\n",
            "rest_client_requests_total{code=\"<error>\",host=\"localhost:6443\",method=\"GET\"} 1\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
