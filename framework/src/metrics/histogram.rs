use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use prometheus::{
    HistogramOpts, Result,
    core::{Metric, MetricVec, MetricVecBuilder},
    proto,
};

/// A histogram for what happens many times a second on several threads. Cloning shares it.
///
/// It is kept in stripes and each thread writes to one, so that no thread waits for what another has just written; whoever
/// reads it gets their sum.
#[derive(Clone)]
pub struct Histogram {
    stripes: Arc<[prometheus::Histogram]>,
}

/// Threads beyond that share.
const STRIPES: usize = 8;

impl Histogram {
    /// One more observation.
    pub fn observe(&self, value: f64) {
        self.stripes[stripe()].observe(value);
    }

    /// How many observations there were.
    pub fn get_sample_count(&self) -> u64 {
        let counts = self.stripes.iter().map(|one| one.get_sample_count());
        counts.sum()
    }

    /// The sum of all observations.
    pub fn get_sample_sum(&self) -> f64 {
        self.stripes.iter().map(|one| one.get_sample_sum()).sum()
    }
}

/// That of this thread.
fn stripe() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static STRIPE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
    }
    // While the thread ends it may be gone.
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

/// Histograms of one name, by their labels.
pub(super) type HistogramFamily = MetricVec<Striped>;

/// Makes them.
#[derive(Clone)]
pub(super) struct Striped;

impl MetricVecBuilder for Striped {
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
    fn what_several_threads_observed_is_read_as_one() {
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
