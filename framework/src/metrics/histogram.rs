use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    thread,
};

use prometheus::{
    HistogramOpts, Result,
    core::{Metric, MetricVec, MetricVecBuilder},
    proto,
};

/// A histogram for events that happen many times a second on several threads. Clones share it.
///
/// It consists of several stripes. Each thread writes to one stripe, so that threads do not contend
/// for the same memory. A read returns the sum of the stripes.
#[derive(Clone)]
pub(crate) struct Histogram {
    stripes: Arc<[prometheus::Histogram]>,
}

/// Some threads share a stripe.
const STRIPES: usize = 8;

impl Histogram {
    /// Adds one observation.
    pub(crate) fn observe(&self, value: f64) {
        self.stripes[stripe()].observe(value);
    }

    /// The number of observations.
    #[cfg(test)]
    pub(crate) fn get_sample_count(&self) -> u64 {
        let counts = self.stripes.iter().map(|one| one.get_sample_count());
        counts.sum()
    }

    /// The sum of all observations.
    #[cfg(test)]
    pub(crate) fn get_sample_sum(&self) -> f64 {
        self.stripes.iter().map(|one| one.get_sample_sum()).sum()
    }
}

/// The stripe of the current thread.
fn stripe() -> usize {
    thread_local! {
        static STRIPE: usize = {
            let mut hasher = DefaultHasher::new();
            thread::current().id().hash(&mut hasher);
            hasher.finish() as usize % STRIPES
        };
    }
    // At the end of a thread its thread-local values may already be destroyed.
    STRIPE.try_with(|stripe| *stripe).unwrap_or(0)
}

impl Metric for Histogram {
    fn metric(&self) -> proto::Metric {
        let mut metric = self.stripes[0].metric();
        let mut sum = metric.get_histogram().clone();
        let mut buckets = sum.get_bucket().to_vec();
        for one in &self.stripes[1..] {
            let one = one.metric();
            let one = one.get_histogram();
            sum.set_sample_count(sum.get_sample_count() + one.get_sample_count());
            sum.set_sample_sum(sum.get_sample_sum() + one.get_sample_sum());
            for (bucket, one) in buckets.iter_mut().zip(one.get_bucket()) {
                bucket.set_cumulative_count(bucket.cumulative_count() + one.cumulative_count());
            }
        }
        sum.set_bucket(buckets);
        metric.set_histogram(sum);
        metric
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram").finish_non_exhaustive()
    }
}

/// The histograms with one name, by their labels.
pub(super) type HistogramFamily = MetricVec<StripedBuilder>;

/// Creates the histograms of a [`HistogramFamily`].
#[derive(Clone)]
pub(super) struct StripedBuilder;

impl MetricVecBuilder for StripedBuilder {
    type M = Histogram;
    type P = HistogramOpts;

    fn build<V: AsRef<str>>(&self, options: &HistogramOpts, values: &[V]) -> Result<Histogram> {
        let mut options = options.clone();
        let names = std::mem::take(&mut options.common_opts.variable_labels);
        let values = values.iter().map(|value| value.as_ref().to_owned());
        let labels = names.into_iter().zip(values);
        options.common_opts.const_labels.extend(labels);
        let stripe = |_| prometheus::Histogram::with_opts(options.clone());
        let stripes: Result<_> = (0..STRIPES).map(stripe).collect();
        stripes.map(|stripes| Histogram { stripes })
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use crate::metrics::Metrics;

    #[test]
    fn observations_of_several_threads_are_read_as_one_histogram() {
        let metrics = Metrics::new();
        let seconds = metrics.controller("site").seconds;
        let together = Barrier::new(10);
        thread::scope(|scope| {
            for number in 0..10 {
                let (seconds, together) = (&seconds, &together);
                scope.spawn(move || {
                    together.wait();
                    seconds.observe(f64::from(number % 2) * 0.25);
                });
            }
        });
        assert_eq!(
            (seconds.get_sample_count(), seconds.get_sample_sum()),
            (10, 1.25)
        );
        let text = metrics.encode();
        let name = "controller_runtime_reconcile_time_seconds";
        for line in [
            "_bucket{controller=\"site\",le=\"0.005\"} 5\n",
            "_bucket{controller=\"site\",le=\"0.25\"} 10\n",
            "_bucket{controller=\"site\",le=\"+Inf\"} 10\n",
            "_sum{controller=\"site\"} 1.25\n",
            "_count{controller=\"site\"} 10\n",
        ] {
            assert!(text.contains(&format!("{name}{line}")), "{line}{text}");
        }
    }
}
