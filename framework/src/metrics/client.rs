use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGauge, Registry};

use super::{ExecMetrics, GaugeShare, buckets, families};

/// The series of the clients' requests. Clones share the series.
///
/// The labels `verb` and `method` hold the HTTP method, `host` holds the API server's `name:port`.
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
    /// The series of the credential plugins.
    pub exec: ExecMetrics,
}

impl ClientMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let histogram = |name, help, labels: &[&str], buckets| {
            families::histogram(registry, name, help, labels, buckets)
        };
        Self {
            requests: families::counter(
                registry,
                "rest_client_requests_total",
                "Attempts to send an HTTP request, by status code, method and host.",
                &["code", "method", "host"],
            ),
            retries: families::counter(
                registry,
                "rest_client_request_retries_total",
                "Retries of requests, by the status code of the retry.",
                &["code", "verb", "host"],
            ),
            durations: histogram(
                "rest_client_request_duration_seconds",
                "Seconds from the start of a request to the end of its response, including retries. Watches are not counted.",
                &["verb", "host"],
                buckets::request_seconds(),
            ),
            request_sizes: histogram(
                "rest_client_request_size_bytes",
                "Bytes of the request bodies.",
                &["verb", "host"],
                buckets::request_bytes(),
            ),
            response_sizes: histogram(
                "rest_client_response_size_bytes",
                "Bytes of the response bodies, as they are read.",
                &["verb", "host"],
                buckets::request_bytes(),
            ),
            limiter: histogram(
                "rest_client_rate_limiter_duration_seconds",
                "Seconds that the client delayed a request by itself.",
                &["verb", "host"],
                buckets::request_seconds(),
            ),
            dns: histogram(
                "rest_client_dns_resolution_duration_seconds",
                "Seconds that resolving the addresses of a host took.",
                &["host"],
                buckets::request_seconds(),
            ),
            transports: families::int_gauge(
                registry,
                "rest_client_transport_cache_entries",
                "Transports in use. Each client has one, and a client with separate connections has one more.",
                &[],
            )
            .with_label_values::<&str>(&[]),
            ca_reloads: families::counter(
                registry,
                "rest_client_transport_ca_reload_total",
                "Reads of a file with certificate authorities, by result and reason.",
                &["result", "reason"],
            ),
            exec: ExecMetrics::register(registry),
        }
    }

    /// Creates the series of a client for `host` with the value zero, before any delay or retry.
    pub(crate) fn begin(&self, host: &str) {
        for method in METHODS {
            self.limiter.with_label_values(&[method, host]);
            let labels = ["<error>", method, host];
            self.retries.with_label_values(&labels);
        }
    }

    /// Counts one transport until the returned value is dropped.
    pub(crate) fn transport(&self) -> GaugeShare {
        let share = GaugeShare::of(&self.transports);
        share.set(1);
        share
    }

    /// Counts one attempt to send a request.
    ///
    /// `code` is the HTTP status of the response. `None` means that no response came; the label is then
    /// `<error>`.
    pub fn request(&self, code: Option<u16>, method: &str, host: &str) {
        with_code(code, |code| {
            let labels = [code, known(method), host];
            self.requests.with_label_values(&labels).inc();
        });
    }

    /// Counts a retry of a request, by its outcome.
    pub fn retry(&self, code: Option<u16>, method: &str, host: &str) {
        with_code(code, |code| {
            let labels = [code, known(method), host];
            self.retries.with_label_values(&labels).inc();
        });
    }

    /// Records how long a request took, including all attempts and the body of the response.
    pub fn duration(&self, method: &str, host: &str, time: Duration) {
        let series = self.durations.with_label_values(&[known(method), host]);
        series.observe(time.as_secs_f64());
    }

    /// Records the size of a request's body.
    pub fn request_size(&self, method: &str, host: &str, bytes: u64) {
        observe_bytes(&self.request_sizes, method, host, bytes);
    }

    /// Records the size of a response body.
    pub fn response_size(&self, method: &str, host: &str, bytes: u64) {
        observe_bytes(&self.response_sizes, method, host, bytes);
    }

    /// Records how long the client delayed a request by itself.
    pub fn held_back(&self, method: &str, host: &str, time: Duration) {
        let series = self.limiter.with_label_values(&[known(method), host]);
        series.observe(time.as_secs_f64());
    }

    /// Counts a read of a file with certificate authorities.
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

    /// Records how long resolving the addresses of `host` took.
    pub fn dns_resolution(&self, host: &str, time: Duration) {
        let series = self.dns.with_label_values(&[host]);
        series.observe(time.as_secs_f64());
    }
}

/// The result of reading a file with certificate authorities again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaReload {
    /// The file has not changed.
    Unchanged,
    /// The file has changed, and its new authorities are in use.
    Updated,
    /// The file cannot be read. The previous authorities stay in use.
    Unreadable,
    /// The file is empty. The previous authorities stay in use.
    Empty,
    /// The file holds no usable authority. The previous authorities stay in use.
    Unusable,
}

fn observe_bytes(family: &HistogramVec, method: &str, host: &str, bytes: u64) {
    // Above 2^53 the number is not exact, which does not matter for a size.
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

/// Maps a method to a fixed set, so that no caller can create an unbounded number of series.
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
