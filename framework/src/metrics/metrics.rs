use std::{fmt, sync::Arc};

use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
    core::{Collector, MetricVec},
    proto::MetricType,
};

use super::{
    CertificateMetrics, ClientMetrics, ControllerMetrics, ElectionMetrics, EventMetrics,
    InformerMetrics, ReadYourWritesMetrics, WorkQueueMetrics,
    build::BuildFamilies,
    controller::ControllerFamilies,
    election::ElectionFamilies,
    histogram::{HistogramFamily, Striped},
    informer::InformerFamilies,
    process,
    read_your_writes::ReadYourWritesFamilies,
    tasks::TaskFamilies,
    text,
    workqueue::WorkQueueFamilies,
};

/// All metrics of one operator, with a registry of their own. Cloning shares them.
#[derive(Clone)]
pub struct Metrics {
    families: Arc<Families>,
}

struct Families {
    registry: Registry,
    controller: ControllerFamilies,
    read_your_writes: ReadYourWritesFamilies,
    workqueue: WorkQueueFamilies,
    informer: InformerFamilies,
    client: ClientMetrics,
    events: EventMetrics,
    certificate: CertificateMetrics,
    election: ElectionFamilies,
    tasks: TaskFamilies,
    build: BuildFamilies,
}

impl Metrics {
    /// A registry with every metric of the framework in it.
    pub fn new() -> Self {
        let registry = Registry::new();
        if cfg!(target_os = "linux") {
            register(&registry, process::ProcessCollector::new());
        }
        Self {
            families: Arc::new(Families {
                controller: ControllerFamilies::register(&registry),
                read_your_writes: ReadYourWritesFamilies::register(&registry),
                workqueue: WorkQueueFamilies::register(&registry),
                informer: InformerFamilies::register(&registry),
                client: ClientMetrics::register(&registry),
                events: EventMetrics::register(&registry),
                certificate: CertificateMetrics::register(&registry),
                election: ElectionFamilies::register(&registry),
                tasks: TaskFamilies::register(&registry),
                build: BuildFamilies::register(&registry),
                registry,
            }),
        }
    }

    /// The registry, to add metrics of your own to it.
    pub fn registry(&self) -> &Registry {
        &self.families.registry
    }

    /// Everything, in Prometheus' text format ([`TEXT_FORMAT`](super::TEXT_FORMAT)).
    pub fn encode(&self) -> String {
        text::encode(&self.families.registry.gather())
    }

    /// The series of the controller `name`, at zero if they are new.
    pub fn controller(&self, name: &str) -> ControllerMetrics {
        self.families.controller.of(name)
    }

    /// The series of what the controller `name` waits for, at zero if they are new.
    pub fn read_your_writes(&self, name: &str) -> ReadYourWritesMetrics {
        self.families.read_your_writes.of(name)
    }

    /// The series of the workqueue `name`, at zero if they are new.
    pub fn workqueue(&self, name: &str) -> WorkQueueMetrics {
        self.families.workqueue.of(name)
    }

    /// The series of a kind's informers, at zero if they are new; `group` is `""` for the core group.
    pub fn informer(&self, group: &str, version: &str, plural: &str) -> InformerMetrics {
        self.families.informer.of(group, version, plural)
    }

    /// The series of the election for the Lease `name`, at zero if they are new.
    pub fn election(&self, name: &str) -> ElectionMetrics {
        self.families.election.of(name)
    }

    /// Panics of an operator's background tasks of that name, which is one of a few; at zero if it is new.
    pub fn task_panics(&self, task: &str) -> IntCounter {
        self.families.tasks.panics(task)
    }

    /// Says in `pilothouse_build_info` which operator this is, in which version, and what it was built with. An
    /// operator does so itself when it starts.
    pub fn build_info(&self, operator: &str, version: &str) {
        self.families.build.built(operator, version);
    }

    /// The series of the clients.
    pub fn client(&self) -> ClientMetrics {
        self.families.client.clone()
    }

    /// The series of the Events that are recorded.
    pub fn events(&self) -> EventMetrics {
        self.families.events.clone()
    }

    /// The series of the certificates that servers show.
    pub fn certificate(&self) -> CertificateMetrics {
        self.families.certificate.clone()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

// Names are constants of this module and the registry is new: these can only fail in our own tests.

pub(super) fn register<C: Collector + 'static>(registry: &Registry, collector: C) {
    registry
        .register(Box::new(collector))
        .expect("the names of our metrics differ");
}

pub(super) fn counter(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let family = IntCounterVec::new(Opts::new(name, help), labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

pub(super) fn new_gauge(name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    GaugeVec::new(Opts::new(name, help), labels).expect("a valid metric")
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    let family = new_gauge(name, help, labels);
    register(registry, family.clone());
    family
}

pub(super) fn int_gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntGaugeVec {
    let family = IntGaugeVec::new(Opts::new(name, help), labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

pub(super) fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: Vec<f64>,
) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(buckets);
    let family = HistogramVec::new(options, labels).expect("a valid metric");
    register(registry, family.clone());
    family
}

/// As [`histogram`], for what happens many times a second on several threads.
pub(super) fn striped(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: Vec<f64>,
) -> HistogramFamily {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let options = HistogramOpts::new(name, help).buckets(buckets);
    let family = MetricVec::create(
        MetricType::HISTOGRAM,
        Striped,
        options.variable_labels(labels),
    )
    .expect("a valid metric");
    register(registry, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_and_its_queue_start_with_every_series_at_zero() {
        let metrics = Metrics::new();
        metrics.controller("site");
        metrics.workqueue("site");
        let text = metrics.encode();
        let queue = "{controller=\"site\",name=\"site\"} 0\n";
        for line in [
            "controller_runtime_reconcile_total{controller=\"site\",result=\"error\"} 0\n",
            "controller_runtime_reconcile_total{controller=\"site\",result=\"requeue\"} 0\n",
            "controller_runtime_reconcile_total{controller=\"site\",result=\"requeue_after\"} 0\n",
            "controller_runtime_reconcile_total{controller=\"site\",result=\"success\"} 0\n",
            "controller_runtime_reconcile_errors_total{controller=\"site\"} 0\n",
            "controller_runtime_terminal_reconcile_errors_total{controller=\"site\"} 0\n",
            "controller_runtime_reconcile_panics_total{controller=\"site\"} 0\n",
            "controller_runtime_reconcile_timeouts_total{controller=\"site\"} 0\n",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"site\",le=\"0.005\"} 0\n",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"site\",le=\"60\"} 0\n",
            "controller_runtime_max_concurrent_reconciles{controller=\"site\"} 0\n",
            "controller_runtime_active_workers{controller=\"site\"} 0\n",
            "workqueue_depth{controller=\"site\",name=\"site\",priority=\"-100\"} 0\n",
            "workqueue_depth{controller=\"site\",name=\"site\",priority=\"0\"} 0\n",
            "workqueue_depth{controller=\"site\",name=\"site\",priority=\"100\"} 0\n",
            &format!("workqueue_adds_total{queue}"),
            &format!("workqueue_queue_duration_seconds_count{queue}"),
            &format!("workqueue_work_duration_seconds_count{queue}"),
            &format!("workqueue_unfinished_work_seconds{queue}"),
            &format!("workqueue_longest_running_processor_seconds{queue}"),
            &format!("workqueue_retries_total{queue}"),
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn two_operators_share_nothing() {
        let (one, other) = (Metrics::new(), Metrics::new());
        one.controller("site").panics.inc();
        assert!(other.controller("site").panics.get() == 0);
    }
}
