use std::{fmt, sync::Arc};

use prometheus::{IntCounter, Registry};

use super::{
    CertificateMetrics, ClientMetrics, ControllerMetrics, ElectionMetrics, EventMetrics,
    InformerMetrics, ReadYourWritesMetrics, WebhookMetrics, WorkQueueMetrics,
    controller::ControllerFamilies,
    election::ElectionFamilies,
    families,
    informer::InformerFamilies,
    operator::{BuildFamilies, TaskFamilies},
    process,
    read_your_writes::ReadYourWritesFamilies,
    text,
    webhook::WebhookFamilies,
    workqueue::WorkQueueFamilies,
};

/// All metrics of one operator, with their own registry. Clones share them.
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
    webhook: WebhookFamilies,
}

impl Metrics {
    /// Creates a registry that holds every metric of the framework.
    pub fn new() -> Self {
        let registry = Registry::new();
        if cfg!(target_os = "linux") {
            families::register(&registry, process::ProcessCollector::new());
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
                webhook: WebhookFamilies::register(&registry),
                registry,
            }),
        }
    }

    /// The registry, for code that needs one. [`register`](Self::register) adds metrics of your own.
    pub fn registry(&self) -> &Registry {
        &self.families.registry
    }

    /// Encodes all metrics in Prometheus' text format ([`TEXT_FORMAT`](super::TEXT_FORMAT)).
    pub fn encode(&self) -> String {
        text::encode(&self.families.registry.gather())
    }

    /// The current value of a series, for tests and for decisions of a program.
    ///
    /// `series` is a name as in the text format: that of a counter or a gauge, or that of a histogram with
    /// `_count` or `_sum` at its end. Only series with all of `labels` count; the values of several series
    /// are added up. Returns `None` if there is no such series.
    ///
    /// It collects all metrics, so do not call it in a hot loop.
    pub fn value(&self, series: &str, labels: &[(&str, &str)]) -> Option<f64> {
        text::value(&self.families.registry.gather(), series, labels)
    }

    /// The series of the controller `name`. New series start at zero.
    pub(crate) fn controller(&self, name: &str) -> ControllerMetrics {
        self.families.controller.of(name)
    }

    /// The series about the own writes that the controller `name` waits for. New series start at zero.
    pub(crate) fn read_your_writes(&self, name: &str) -> ReadYourWritesMetrics {
        self.families.read_your_writes.of(name)
    }

    /// The series of the workqueue `name`. New series start at zero.
    pub(crate) fn workqueue(&self, name: &str) -> WorkQueueMetrics {
        self.families.workqueue.of(name)
    }

    /// The series of the informers of a kind. New series start at zero. `group` is `""` for the core group.
    pub fn informer(&self, group: &str, version: &str, plural: &str) -> InformerMetrics {
        self.families.informer.of(group, version, plural)
    }

    /// The series of the election for the Lease `name`. New series start at zero.
    pub(crate) fn election(&self, name: &str) -> ElectionMetrics {
        self.families.election.of(name)
    }

    /// The series of the webhook at `path`. New series start at zero.
    pub(crate) fn webhook(&self, path: &str) -> WebhookMetrics {
        self.families.webhook.of(path)
    }

    /// Counts panics of the operator's background tasks with the name `task`. Tasks have only a few
    /// different names. A new series starts at zero.
    pub(crate) fn task_panics(&self, task: &str) -> IntCounter {
        self.families.tasks.panics(task)
    }

    /// Sets the labels of `pilothouse_build_info`: the operator's name and version, and the versions that
    /// it was built with. An operator calls this when it starts.
    pub(crate) fn build_info(&self, operator: &str, version: &str) {
        self.families.build.built(operator, version);
    }

    /// The series of all clients.
    pub fn client(&self) -> ClientMetrics {
        self.families.client.clone()
    }

    /// The series of the recorded Events.
    pub(crate) fn events(&self) -> EventMetrics {
        self.families.events.clone()
    }

    /// The series of the certificates that servers present.
    pub(crate) fn certificate(&self) -> CertificateMetrics {
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
            "pilothouse_controller_timeout_seconds{controller=\"site\"} 0\n",
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
