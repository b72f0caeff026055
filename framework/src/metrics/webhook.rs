use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::{Histogram, buckets, families, histogram::HistogramFamily};

/// The series of one webhook. The label `webhook` holds its path.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    path: String,
    requests: IntCounterVec,
    /// Seconds from the head of a request to its answer.
    pub(crate) seconds: Histogram,
    /// Requests that are answered now.
    pub(crate) in_flight: IntGauge,
    /// Requests that were denied, after a panic or a timeout too.
    pub(crate) denials: IntCounter,
    /// Requests that were not decided in time.
    pub(crate) timeouts: IntCounter,
    /// Panics of the user's code. All webhooks share the series.
    pub(crate) panics: IntCounter,
}

impl WebhookMetrics {
    /// Counts an answer with this HTTP status.
    pub(crate) fn answered(&self, code: u16) {
        let code = code.to_string();
        self.requests.with_label_values(&[&*self.path, &code]).inc();
    }
}

#[derive(Debug)]
pub(super) struct WebhookFamilies {
    requests: IntCounterVec,
    seconds: HistogramFamily,
    in_flight: IntGaugeVec,
    denials: IntCounterVec,
    timeouts: IntCounterVec,
    panics: IntCounterVec,
}

impl WebhookFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let webhook = &["webhook"];
        Self {
            requests: families::counter(
                registry,
                "controller_runtime_webhook_requests_total",
                "Requests to a webhook, by path and HTTP status. A denial has status 200.",
                &["webhook", "code"],
            ),
            seconds: families::striped_histogram(
                registry,
                "controller_runtime_webhook_latency_seconds",
                "Seconds from the head of a request to its answer, by path.",
                webhook,
                buckets::lag_seconds(),
            ),
            in_flight: families::int_gauge(
                registry,
                "controller_runtime_webhook_requests_in_flight",
                "Requests that a webhook answers now, by path.",
                webhook,
            ),
            denials: families::counter(
                registry,
                "pilothouse_webhook_denials_total",
                "Requests that a webhook denied, by path.",
                webhook,
            ),
            timeouts: families::counter(
                registry,
                "pilothouse_webhook_timeouts_total",
                "Requests that a webhook did not decide in time, by path.",
                webhook,
            ),
            panics: families::counter(
                registry,
                "controller_runtime_webhook_panics_total",
                "Panics of webhooks.",
                &[],
            ),
        }
    }

    pub(super) fn of(&self, path: &str) -> WebhookMetrics {
        let label = &[path];
        // They start at zero.
        for code in ["200", "500"] {
            self.requests.with_label_values(&[path, code]);
        }
        WebhookMetrics {
            path: path.to_owned(),
            requests: self.requests.clone(),
            seconds: self.seconds.with_label_values(label),
            in_flight: self.in_flight.with_label_values(label),
            denials: self.denials.with_label_values(label),
            timeouts: self.timeouts.with_label_values(label),
            panics: self.panics.with_label_values::<&str>(&[]),
        }
    }
}
