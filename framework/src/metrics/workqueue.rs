use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::{buckets, metrics};

/// What one workqueue does; the series bear its name in the labels `name` and `controller`.
///
/// Cloning shares the series.
#[derive(Clone, Debug)]
pub struct WorkQueueMetrics {
    /// Keys that wait for a worker; delayed ones do not count.
    pub depth: Gauge,
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
    running: RunningCollector,
}

impl WorkQueueMetrics {
    /// Has `queue` asked for its running work whenever the metrics are read, until it is dropped.
    pub fn watch(&self, queue: Weak<dyn RunningWork>) {
        let mut queues = self.running.lock();
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        queues.push((self.name.clone(), queue));
    }
}

/// A queue that can say how long its present work has been going on.
pub trait RunningWork: Send + Sync {
    /// The present state. It is called while metrics are read and must not wait.
    fn running(&self) -> Running;
}

/// How long the present work of a queue has been going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Of all workers together.
    pub unfinished: Duration,
    /// Of the one that has been at it for longest.
    pub longest: Duration,
}

#[derive(Debug)]
pub(super) struct WorkQueueFamilies {
    depth: GaugeVec,
    adds: IntCounterVec,
    queue_seconds: HistogramVec,
    work_seconds: HistogramVec,
    retries: IntCounterVec,
    running: RunningCollector,
}

impl WorkQueueFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let labels = &["name", "controller"];
        let running = RunningCollector::new();
        metrics::register(registry, running.clone());
        Self {
            depth: metrics::gauge(
                registry,
                "workqueue_depth",
                "Current depth of workqueue by workqueue and priority",
                &["name", "controller", "priority"],
            ),
            adds: metrics::counter(
                registry,
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
                labels,
            ),
            queue_seconds: metrics::histogram(
                registry,
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
                labels,
                buckets::workqueue_seconds(),
            ),
            work_seconds: metrics::histogram(
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
            running,
        }
    }

    pub(super) fn of(&self, name: &str) -> WorkQueueMetrics {
        let labels = &[name, name];
        self.running.unfinished.with_label_values(labels);
        self.running.longest.with_label_values(labels);
        WorkQueueMetrics {
            depth: self.depth.with_label_values(&[name, name, ""]),
            adds: self.adds.with_label_values(labels),
            queue_seconds: self.queue_seconds.with_label_values(labels),
            work_seconds: self.work_seconds.with_label_values(labels),
            retries: self.retries.with_label_values(labels),
            name: name.to_owned(),
            running: self.running.clone(),
        }
    }
}

/// Asks the queues when the metrics are read; client-go has a goroutine per queue instead.
#[derive(Clone)]
struct RunningCollector {
    unfinished: GaugeVec,
    longest: GaugeVec,
    queues: Arc<Mutex<Vec<NamedQueue>>>,
}

type NamedQueue = (String, Weak<dyn RunningWork>);

impl RunningCollector {
    fn new() -> Self {
        let labels = &["name", "controller"];
        Self {
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<NamedQueue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for RunningCollector {
    fn desc(&self) -> Vec<&Desc> {
        let mut descriptions = self.unfinished.desc();
        descriptions.extend(self.longest.desc());
        descriptions
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // Copied first: a queue's own lock is never taken under this one.
        let queues = self.lock().clone();
        for (name, queue) in queues {
            let running = queue
                .upgrade()
                .map(|queue| queue.running())
                .unwrap_or_default();
            let labels = &[name.as_str(), name.as_str()];
            self.unfinished
                .with_label_values(labels)
                .set(running.unfinished.as_secs_f64());
            self.longest
                .with_label_values(labels)
                .set(running.longest.as_secs_f64());
        }
        let mut families = self.unfinished.collect();
        families.extend(self.longest.collect());
        families
    }
}

impl fmt::Debug for RunningCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCollector").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    struct Fixed(Running);

    impl RunningWork for Fixed {
        fn running(&self) -> Running {
            self.0
        }
    }

    #[test]
    fn running_work_is_asked_for_when_the_metrics_are_read() {
        let metrics = Metrics::new();
        let queue: Arc<dyn RunningWork> = Arc::new(Fixed(Running {
            unfinished: Duration::from_millis(2500),
            longest: Duration::from_secs(2),
        }));
        metrics.workqueue("site").watch(Arc::downgrade(&queue));
        let labels = "{controller=\"site\",name=\"site\"}";
        let text = metrics.encode();
        assert!(text.contains(&format!("workqueue_unfinished_work_seconds{labels} 2.5\n")));
        assert!(text.contains(&format!(
            "workqueue_longest_running_processor_seconds{labels} 2\n"
        )));

        drop(queue);
        let text = metrics.encode();
        assert!(text.contains(&format!("workqueue_unfinished_work_seconds{labels} 0\n")));
    }
}
