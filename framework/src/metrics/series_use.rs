use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;
use prometheus::core::{Collector, MetricVec, MetricVecBuilder};

/// Counts the users of each set of series, so that the series are removed with the last user.
#[derive(Clone, Debug, Default)]
pub(super) struct SeriesUses {
    counts: Arc<Mutex<HashMap<Vec<String>, usize>>>,
}

/// One user of some series. The series are removed when the last one is dropped.
pub(crate) struct SeriesUse {
    uses: SeriesUses,
    labels: Vec<String>,
    end: Box<dyn Fn() + Send + Sync>,
}

impl SeriesUses {
    /// Adds a user of the series of `labels`. `make` creates the series and `end` removes them. They never
    /// run at the same time, so no user gets series that are about to be removed.
    pub(super) fn begin<T>(
        &self,
        labels: &[&str],
        make: impl FnOnce() -> T,
        end: impl Fn() + Send + Sync + 'static,
    ) -> (T, SeriesUse) {
        let labels: Vec<String> = labels.iter().copied().map(str::to_owned).collect();
        let mut counts = self.counts.lock();
        let made = make();
        *counts.entry(labels.clone()).or_default() += 1;
        drop(counts);
        let one = SeriesUse {
            uses: self.clone(),
            labels,
            end: Box::new(end),
        };
        (made, one)
    }
}

impl Drop for SeriesUse {
    fn drop(&mut self) {
        let mut counts = self.uses.counts.lock();
        let Some(count) = counts.get_mut(&self.labels) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.labels);
            (self.end)();
        }
    }
}

impl fmt::Debug for SeriesUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeriesUse").field(&self.labels).finish()
    }
}

/// Removes the series of `family` that have all of `labels`.
pub(super) fn remove<T: MetricVecBuilder>(family: &MetricVec<T>, labels: &[(&str, &str)]) {
    for collected in family.collect() {
        for metric in collected.get_metric() {
            let own = metric.get_label().iter();
            let own: HashMap<&str, &str> = own.map(|pair| (pair.name(), pair.value())).collect();
            if labels
                .iter()
                .all(|(name, value)| own.get(name) == Some(value))
            {
                // Removing a series that does not exist any more fails, which is fine.
                _ = family.remove(&own);
            }
        }
    }
}
