use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use prometheus::{
    GaugeVec, IntCounter, IntCounterVec, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{Histogram, buckets, families, histogram::HistogramFamily};

/// The series of one workqueue. The labels `name` and `controller` hold its name.
///
/// Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct WorkQueueMetrics {
    /// Keys that became ready.
    pub adds: IntCounter,
    /// Seconds from the moment when a key is ready to the start of its work. For a key that was added
    /// during its work the time counts from that add.
    pub queue_seconds: Histogram,
    /// Seconds of the work.
    pub work_seconds: Histogram,
    /// Adds with a delay: after a failure, or because the caller asked for a delay.
    pub retries: IntCounter,
    name: String,
    live: QueueCollector,
}

impl WorkQueueMetrics {
    /// Reads the state of `queue` at each scrape until `queue` is dropped. That fills
    /// `workqueue_depth`, `workqueue_unfinished_work_seconds` and
    /// `workqueue_longest_running_processor_seconds`.
    pub(crate) fn watch(&self, queue: Weak<dyn SampledQueue>) {
        let mut queues = self.live.queues.lock();
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        queues.push((self.name.clone(), queue));
    }
}

/// A queue whose state can be read at a scrape.
pub(crate) trait SampledQueue: Send + Sync {
    /// The current state. It is called while metrics are read and must not block.
    fn sample(&self) -> QueueSample;
}

/// The current state of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSample {
    /// Keys that are ready and wait for a worker, by priority, lowest first. Delayed keys do not count.
    pub depth: [usize; 3],
    /// The sum of the time that all current work has been running.
    pub unfinished: Duration,
    /// The time that the oldest current work has been running.
    pub longest: Duration,
}

impl QueueSample {
    /// The state of a queue with this many keys and no current work.
    pub(crate) fn of_depth(depth: [usize; 3]) -> Self {
        Self {
            depth,
            ..Self::default()
        }
    }

    /// Adds current work that has been running for `age`.
    #[must_use]
    pub(crate) fn and_running(self, age: Duration) -> Self {
        Self {
            unfinished: self.unfinished.saturating_add(age),
            longest: self.longest.max(age),
            ..self
        }
    }
}

/// The label of each priority, lowest first. The numbers are those of controller-runtime, which uses
/// -100 (the first list, resync) and 0.
const PRIORITIES: [&str; 3] = ["-100", "0", "100"];

#[derive(Debug)]
pub(super) struct WorkQueueFamilies {
    adds: IntCounterVec,
    queue_seconds: HistogramFamily,
    work_seconds: HistogramFamily,
    retries: IntCounterVec,
    live: QueueCollector,
}

impl WorkQueueFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let labels = &["name", "controller"];
        let live = QueueCollector::new();
        families::register(registry, live.clone());
        Self {
            adds: families::counter(
                registry,
                "workqueue_adds_total",
                "Keys that became ready, by queue.",
                labels,
            ),
            queue_seconds: families::striped_histogram(
                registry,
                "workqueue_queue_duration_seconds",
                "Seconds that a key waited in the queue until its work started.",
                labels,
                buckets::workqueue_seconds(),
            ),
            work_seconds: families::striped_histogram(
                registry,
                "workqueue_work_duration_seconds",
                "Seconds that the work on a key took.",
                labels,
                buckets::workqueue_seconds(),
            ),
            retries: families::counter(
                registry,
                "workqueue_retries_total",
                "Adds with a delay: after a failure, or on request.",
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

/// Reads the queues at each scrape. client-go runs one goroutine for each queue instead.
#[derive(Clone)]
struct QueueCollector {
    depth: GaugeVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    queues: Arc<Mutex<Vec<NamedQueue>>>,
}

type NamedQueue = (String, Weak<dyn SampledQueue>);

impl QueueCollector {
    fn new() -> Self {
        let labels = &["name", "controller"];
        Self {
            depth: families::new_gauge(
                "workqueue_depth",
                "Keys that are ready and wait for a worker, by queue and priority.",
                &["name", "controller", "priority"],
            ),
            unfinished: families::new_gauge(
                "workqueue_unfinished_work_seconds",
                "Seconds that all current work has been running, added up. A value that keeps growing means stuck workers; the number of seconds that it grows each second is the number of stuck workers.",
                labels,
            ),
            longest: families::new_gauge(
                "workqueue_longest_running_processor_seconds",
                "Seconds that the oldest current work has been running.",
                labels,
            ),
            queues: Arc::default(),
        }
    }

    /// Creates the series of `name`. New series start at zero.
    fn start(&self, name: &str) {
        for priority in PRIORITIES {
            self.depth.with_label_values(&[name, name, priority]);
        }
        self.unfinished.with_label_values(&[name, name]);
        self.longest.with_label_values(&[name, name]);
    }

    fn set(&self, name: &str, live: QueueSample) {
        for (priority, depth) in PRIORITIES.into_iter().zip(live.depth) {
            let series = self.depth.with_label_values(&[name, name, priority]);
            series.set(depth as f64);
        }
        let unfinished = self.unfinished.with_label_values(&[name, name]);
        unfinished.set(live.unfinished.as_secs_f64());
        let longest = self.longest.with_label_values(&[name, name]);
        longest.set(live.longest.as_secs_f64());
    }
}

impl Collector for QueueCollector {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [&self.depth, &self.unfinished, &self.longest];
        gauges.into_iter().flat_map(|gauge| gauge.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // The list is copied first, so that a queue's own lock is never taken under this lock.
        let queues = self.queues.lock().clone();
        for (name, queue) in queues {
            let live = queue.upgrade().map(|queue| queue.sample());
            self.set(&name, live.unwrap_or_default());
        }
        let gauges = [&self.depth, &self.unfinished, &self.longest];
        gauges
            .into_iter()
            .flat_map(|gauge| gauge.collect())
            .collect()
    }
}

impl fmt::Debug for QueueCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueCollector").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    struct Fixed(QueueSample);

    impl SampledQueue for Fixed {
        fn sample(&self) -> QueueSample {
            self.0
        }
    }

    #[test]
    fn the_state_of_a_queue_is_read_at_each_scrape() {
        let metrics = Metrics::new();
        let live = QueueSample::of_depth([3, 2, 1])
            .and_running(Duration::from_secs(2))
            .and_running(Duration::from_millis(500));
        let queue: Arc<dyn SampledQueue> = Arc::new(Fixed(live));
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
