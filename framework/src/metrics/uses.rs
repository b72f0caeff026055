use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};

/// Who uses the series of which labels, so that they end with the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    counts: Arc<Mutex<HashMap<Vec<String>, usize>>>,
}

/// A use of some series; they are gone when the last one is dropped.
pub struct Use {
    uses: Uses,
    labels: Vec<String>,
    end: Box<dyn Fn() + Send + Sync>,
}

impl Uses {
    /// Begins a use of the series of `labels`, which `make` gives and `end` removes. Neither is called while
    /// the other is, so that nobody gets hold of series that are about to end.
    pub(super) fn begin<T>(
        &self,
        labels: &[&str],
        make: impl FnOnce() -> T,
        end: impl Fn() + Send + Sync + 'static,
    ) -> (T, Use) {
        let labels: Vec<String> = labels.iter().copied().map(str::to_owned).collect();
        let mut counts = self.counts();
        let made = make();
        *counts.entry(labels.clone()).or_default() += 1;
        drop(counts);
        let one = Use {
            uses: self.clone(),
            labels,
            end: Box::new(end),
        };
        (made, one)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Vec<String>, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut counts = self.uses.counts();
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

impl fmt::Debug for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Use").field(&self.labels).finish()
    }
}

/// Removes the series of `family` that bear all of `labels`.
pub(super) fn remove<T: MetricVecBuilder>(family: &MetricVec<T>, labels: &[(&str, &str)]) {
    for collected in family.collect() {
        for metric in collected.get_metric() {
            let own = metric.get_label().iter();
            let own: HashMap<&str, &str> = own.map(|pair| (pair.name(), pair.value())).collect();
            if labels
                .iter()
                .all(|(name, value)| own.get(name) == Some(value))
            {
                // Gone already is as good.
                _ = family.remove(&own);
            }
        }
    }
}
