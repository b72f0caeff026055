use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounterVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{buckets, metrics};

/// What became of the run of a credential plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecOutcome {
    /// It printed credentials.
    Success,
    /// It failed with this exit code, or it printed something else.
    Failed(i32),
    /// There is no such command.
    NotFound,
    /// It could not be run, or did not end in time.
    NotRun,
}

/// The credential plugins of the clients; cloning shares the series.
#[derive(Clone, Debug)]
pub struct ExecMetrics {
    calls: IntCounterVec,
    policy: IntCounterVec,
    ages: Histogram,
    ends: Ends,
}

impl ExecMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let ages = HistogramOpts::new(
            "rest_client_exec_plugin_certificate_rotation_age",
            "Age in seconds of the client certificates that credential plugins replaced.",
        );
        let ages = Histogram::with_opts(ages.buckets(buckets::certificate_seconds()))
            .expect("a valid metric");
        metrics::register(registry, ages.clone());
        let ends = Ends::new();
        metrics::register(registry, ends.clone());
        Self {
            calls: metrics::counter(
                registry,
                "rest_client_exec_plugin_call_total",
                "Runs of credential plugins, by what became of them and by exit code.",
                &["code", "call_status"],
            ),
            policy: metrics::counter(
                registry,
                "rest_client_exec_plugin_policy_call_total",
                "Credential plugins that were to be run, by whether the policy allowed it.",
                &["allowed", "denied"],
            ),
            ages,
            ends,
        }
    }

    /// Counts the run of a plugin.
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

    /// Counts a plugin that was to be run.
    pub fn policy(&self, allowed: bool) {
        let labels = if allowed {
            ["true", "false"]
        } else {
            ["false", "true"]
        };
        self.policy.with_label_values(&labels).inc();
    }

    /// Records that a client certificate, valid since `start`, was replaced.
    pub fn rotated(&self, start: Timestamp) {
        self.ages
            .observe(Timestamp::now().duration_since(start).as_secs_f64());
    }

    /// Says until when the client certificate of the plugin `id` is valid; `None` forgets it.
    ///
    /// `id` tells the plugins of one process apart; it is no label.
    pub fn valid_until(&self, id: usize, end: Option<Timestamp>) {
        let mut known = self.ends.known();
        match end {
            Some(end) => known.insert(id, end),
            None => known.remove(&id),
        };
    }
}

/// `rest_client_exec_plugin_ttl_seconds`, counted when it is read.
#[derive(Clone, Debug)]
struct Ends {
    known: Arc<Mutex<HashMap<usize, Timestamp>>>,
    gauge: Gauge,
}

impl Ends {
    fn new() -> Self {
        let gauge = Gauge::with_opts(Opts::new(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds until the first client certificate of a credential plugin expires; +Inf without one.",
        ));
        Self {
            known: Arc::default(),
            gauge: gauge.expect("a valid metric"),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<usize, Timestamp>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Ends {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let first = self.known().values().min().copied();
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
    fn the_certificate_that_expires_first_counts() {
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
    fn runs_are_counted_by_outcome_and_code() {
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
