use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use prometheus::{
    GaugeVec, IntCounter, IntCounterVec, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{Histogram, buckets, histogram::HistogramFamily, metrics};

/// What one workqueue does; the series bear its name in the labels `name` and `controller`.
///
/// Cloning shares the series.
#[derive(Clone, Debug)]
pub struct WorkQueueMetrics {
    /// Keys that became ready.
    pub adds: IntCounter,
    /// Seconds from ready to the start of the work; of a key asked for while it is worked on, from
    /// the asking.
    pub queue_seconds: Histogram,
    /// Seconds of the work.
    pub work_seconds: Histogram,
    /// Adds with a delay, whether after a failure or because one was asked for.
    pub retries: IntCounter,
    name: String,
    live: LiveCollector,
}

impl WorkQueueMetrics {
    /// Has `queue` asked for its present state whenever the metrics are read, until it is dropped:
    /// for `workqueue_depth`, `workqueue_unfinished_work_seconds` and
    /// `workqueue_longest_running_processor_seconds`.
    pub fn watch(&self, queue: Weak<dyn LiveQueue>) {
        let mut queues = self.live.lock();
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        queues.push((self.name.clone(), queue));
    }
}

/// A queue that can say how it is.
pub trait LiveQueue: Send + Sync {
    /// The present state. It is called while metrics are read and must not wait.
    fn live(&self) -> LiveState;
}

/// How a queue is at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveState {
    /// Keys that wait for a worker, by priority, the lowest first; delayed ones do not count.
    pub depth: [usize; 3],
    /// How long the present work has been going on, of all workers together.
    pub unfinished: Duration,
    /// How long the work that has been going on for longest has.
    pub longest: Duration,
}

impl LiveState {
    /// Of a queue with so many keys and no work going on.
    pub fn of_depth(depth: [usize; 3]) -> Self {
        Self {
            depth,
            ..Self::default()
        }
    }

    /// With work that has been going on for `age`.
    #[must_use]
    pub fn and_running(self, age: Duration) -> Self {
        Self {
            unfinished: self.unfinished.saturating_add(age),
            longest: self.longest.max(age),
            ..self
        }
    }
}

/// The label of each priority, the lowest first: controller-runtime has the number, of which it
/// knows -100 (the first list, resync) and 0.
const PRIORITIES: [&str; 3] = ["-100", "0", "100"];

#[derive(Debug)]
pub(super) struct WorkQueueFamilies {
    adds: IntCounterVec,
    queue_seconds: HistogramFamily,
    work_seconds: HistogramFamily,
    retries: IntCounterVec,
    live: LiveCollector,
}

impl WorkQueueFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let labels = &["name", "controller"];
        let live = LiveCollector::new();
        metrics::register(registry, live.clone());
        Self {
            adds: metrics::counter(
                registry,
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
                labels,
            ),
            queue_seconds: metrics::striped(
                registry,
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
                labels,
                buckets::workqueue_seconds(),
            ),
            work_seconds: metrics::striped(
                registry,
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                labels,
                buckets::workqueue_seconds(),
            ),
            retries: metrics::counter(
                registry,
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                labels,
            ),
            live,
        }
    }

    pub(super) fn of(&self, name: &str) -> WorkQueueMetrics {
        let labels = &[name, name];
        self.live.start(name);
        WorkQueueMetrics {
            adds: self.adds.with_label_values(labels),
            queue_seconds: self.queue_seconds.with_label_values(labels),
            work_seconds: self.work_seconds.with_label_values(labels),
            retries: self.retries.with_label_values(labels),
            name: name.to_owned(),
            live: self.live.clone(),
        }
    }
}

/// Asks the queues when the metrics are read; client-go has a goroutine per queue instead.
#[derive(Clone)]
struct LiveCollector {
    depth: GaugeVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    queues: Arc<Mutex<Vec<NamedQueue>>>,
}

type NamedQueue = (String, Weak<dyn LiveQueue>);

impl LiveCollector {
    fn new() -> Self {
        let labels = &["name", "controller"];
        Self {
            depth: metrics::new_gauge(
                "workqueue_depth",
                "Current depth of workqueue by workqueue and priority",
                &["name", "controller", "priority"],
            ),
            unfinished: metrics::new_gauge(
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
                labels,
            ),
            longest: metrics::new_gauge(
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
                labels,
            ),
            queues: Arc::default(),
        }
    }

    /// Has the series of `name`, at zero if they are new.
    fn start(&self, name: &str) {
        for priority in PRIORITIES {
            self.depth.with_label_values(&[name, name, priority]);
        }
        self.unfinished.with_label_values(&[name, name]);
        self.longest.with_label_values(&[name, name]);
    }

    fn set(&self, name: &str, live: LiveState) {
        for (priority, depth) in PRIORITIES.into_iter().zip(live.depth) {
            let series = self.depth.with_label_values(&[name, name, priority]);
            series.set(depth as f64);
        }
        let unfinished = self.unfinished.with_label_values(&[name, name]);
        unfinished.set(live.unfinished.as_secs_f64());
        let longest = self.longest.with_label_values(&[name, name]);
        longest.set(live.longest.as_secs_f64());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<NamedQueue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for LiveCollector {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [&self.depth, &self.unfinished, &self.longest];
        gauges.into_iter().flat_map(|gauge| gauge.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // Copied first: a queue's own lock is never taken under this one.
        let queues = self.lock().clone();
        for (name, queue) in queues {
            let live = queue.upgrade().map(|queue| queue.live());
            self.set(&name, live.unwrap_or_default());
        }
        let gauges = [&self.depth, &self.unfinished, &self.longest];
        gauges
            .into_iter()
            .flat_map(|gauge| gauge.collect())
            .collect()
    }
}

impl fmt::Debug for LiveCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveCollector").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    struct Fixed(LiveState);

    impl LiveQueue for Fixed {
        fn live(&self) -> LiveState {
            self.0
        }
    }

    #[test]
    fn a_queue_is_asked_when_the_metrics_are_read() {
        let metrics = Metrics::new();
        let live = LiveState::of_depth([3, 2, 1])
            .and_running(Duration::from_secs(2))
            .and_running(Duration::from_millis(500));
        let queue: Arc<dyn LiveQueue> = Arc::new(Fixed(live));
        metrics.workqueue("site").watch(Arc::downgrade(&queue));
        let depth = |priority| {
            format!("workqueue_depth{{controller=\"site\",name=\"site\",priority=\"{priority}\"}}")
        };
        let labels = "{controller=\"site\",name=\"site\"}";
        let unfinished = format!("workqueue_unfinished_work_seconds{labels}");
        let longest = format!("workqueue_longest_running_processor_seconds{labels}");
        let text = metrics.encode();
        let (low, normal, high) = (depth("-100"), depth("0"), depth("100"));
        for line in [
            format!("{low} 3\n"),
            format!("{normal} 2\n"),
            format!("{high} 1\n"),
            format!("{unfinished} 2.5\n"),
            format!("{longest} 2\n"),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }

        drop(queue);
        let text = metrics.encode();
        for series in [low, normal, high, unfinished, longest] {
            assert!(text.contains(&format!("{series} 0\n")), "{series}");
        }
    }
}
