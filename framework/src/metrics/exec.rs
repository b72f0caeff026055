use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounterVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{buckets, families};

/// The result of running a credential plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecOutcome {
    /// The plugin printed credentials.
    Success,
    /// The plugin failed with this exit code, or its output was not a credential.
    Failed(i32),
    /// The command does not exist.
    NotFound,
    /// The command did not start, or it did not end in time.
    NotRun,
}

/// The series of the clients' credential plugins. Clones share the series.
#[derive(Clone, Debug)]
pub struct ExecMetrics {
    calls: IntCounterVec,
    policy: IntCounterVec,
    ages: Histogram,
    ends: CertificateExpiries,
}

impl ExecMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let ages = HistogramOpts::new(
            "rest_client_exec_plugin_certificate_rotation_age",
            "Age in seconds of client certificates when a credential plugin replaced them.",
        );
        let ages = Histogram::with_opts(ages.buckets(buckets::certificate_seconds()))
            .expect("a valid metric");
        families::register(registry, ages.clone());
        let ends = CertificateExpiries::new();
        families::register(registry, ends.clone());
        Self {
            calls: families::counter(
                registry,
                "rest_client_exec_plugin_call_total",
                "Runs of credential plugins, by result and exit code.",
                &["code", "call_status"],
            ),
            policy: families::counter(
                registry,
                "rest_client_exec_plugin_policy_call_total",
                "Checks whether the policy allows a credential plugin to run, by decision.",
                &["allowed", "denied"],
            ),
            ages,
            ends,
        }
    }

    /// Counts a run of a plugin.
    pub fn call(&self, outcome: ExecOutcome) {
        let (code, status) = match outcome {
            ExecOutcome::Success => (0, "no_error"),
            ExecOutcome::Failed(code) => (code, "plugin_execution_error"),
            ExecOutcome::NotFound => (1, "plugin_not_found_error"),
            ExecOutcome::NotRun => (1, "client_internal_error"),
        };
        let labels = [&*code.to_string(), status];
        self.calls.with_label_values(&labels).inc();
    }

    /// Counts a check whether the policy allows a plugin to run.
    pub fn policy(&self, allowed: bool) {
        let labels = if allowed {
            ["true", "false"]
        } else {
            ["false", "true"]
        };
        self.policy.with_label_values(&labels).inc();
    }

    /// Records that a client certificate that was valid since `start` was replaced.
    pub fn rotated(&self, start: Timestamp) {
        self.ages
            .observe(Timestamp::now().duration_since(start).as_secs_f64());
    }

    /// Sets the expiry of the client certificate from the plugin `id`. `None` removes it.
    ///
    /// `id` distinguishes the plugins of one process. It is not a label.
    pub fn valid_until(&self, id: usize, end: Option<Timestamp>) {
        let mut known = self.ends.known.lock();
        match end {
            Some(end) => known.insert(id, end),
            None => known.remove(&id),
        };
    }
}

/// The metric `rest_client_exec_plugin_ttl_seconds`, calculated at each scrape.
#[derive(Clone, Debug)]
struct CertificateExpiries {
    known: Arc<Mutex<HashMap<usize, Timestamp>>>,
    gauge: Gauge,
}

impl CertificateExpiries {
    fn new() -> Self {
        let gauge = Gauge::with_opts(Opts::new(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds until the first client certificate from a credential plugin expires; +Inf without such a certificate.",
        ));
        Self {
            known: Arc::default(),
            gauge: gauge.expect("a valid metric"),
        }
    }
}

impl Collector for CertificateExpiries {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let first = self.known.lock().values().min().copied();
        let left = |end: Timestamp| end.duration_since(Timestamp::now()).as_secs_f64();
        self.gauge.set(first.map_or(f64::INFINITY, left));
        self.gauge.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use jiff::SignedDuration;

    #[test]
    fn the_gauge_shows_the_certificate_that_expires_first() {
        let metrics = Metrics::new();
        let exec = metrics.client().exec;
        let left = || {
            let text = metrics.encode();
            let line = text
                .lines()
                .find(|line| line.starts_with("rest_client_exec_plugin_ttl_seconds "));
            line.unwrap().rsplit_once(' ').unwrap().1.to_owned()
        };
        assert_eq!(left(), "+Inf");
        let hours = |hours| Timestamp::now() + SignedDuration::from_hours(hours);
        exec.valid_until(1, Some(hours(2)));
        exec.valid_until(2, Some(hours(1)));
        let seconds: f64 = left().parse().unwrap();
        assert!((3500.0..=3600.0).contains(&seconds), "{seconds}");
        exec.valid_until(2, None);
        exec.valid_until(1, None);
        assert_eq!(left(), "+Inf");
    }

    #[test]
    fn plugin_runs_are_counted_by_result_and_exit_code() {
        let metrics = Metrics::new();
        let exec = metrics.client().exec;
        exec.call(ExecOutcome::Success);
        exec.call(ExecOutcome::Failed(3));
        exec.call(ExecOutcome::NotFound);
        exec.policy(false);
        exec.rotated(Timestamp::now() - SignedDuration::from_hours(2));
        let text = metrics.encode();
        for line in [
            "rest_client_exec_plugin_call_total{call_status=\"no_error\",code=\"0\"} 1\n",
            "rest_client_exec_plugin_call_total{call_status=\"plugin_execution_error\",code=\"3\"} 1\n",
            "rest_client_exec_plugin_call_total{call_status=\"plugin_not_found_error\",code=\"1\"} 1\n",
            "rest_client_exec_plugin_policy_call_total{allowed=\"false\",denied=\"true\"} 1\n",
            "rest_client_exec_plugin_certificate_rotation_age_bucket{le=\"3600\"} 0\n",
            "rest_client_exec_plugin_certificate_rotation_age_bucket{le=\"14400\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
