use serde_json::{Value, json};

use super::Installation;
use crate::resource::{ApiResource, DynamicObject};

/// The page of the book that explains each alert. A test checks that the page has a section for each.
const RUNBOOK: &str = "https://pilothouse.dev/book/alerts.html";

/// An alert of an operator.
struct Alert {
    /// The name, which is also the title of the section in the book.
    name: &'static str,
    severity: Severity,
    /// How long the expression must hold. `None` if it needs to hold only once.
    lasting: Option<&'static str>,
    /// The expression in PromQL. `OPERATOR` selects the processes of the operator.
    expression: &'static str,
    summary: &'static str,
    description: &'static str,
}

/// How soon a person must look.
enum Severity {
    /// Now: the operator does not work.
    Critical,
    /// On the next working day: a part of the work is not done.
    Warning,
}

/// The metrics do not name the operator, and the labels of a scrape differ between clusters. But each process has this
/// series, and Prometheus adds `job` and `instance` to all series of a process.
const PROCESSES: &str = "on (job, instance) pilothouse_build_info{operator=\"OPERATOR\"}";

const ALERTS: [Alert; 7] = [
    Alert {
        name: "PilothouseDown",
        severity: Severity::Critical,
        lasting: Some("5m"),
        expression: "absent(pilothouse_build_info{operator=\"OPERATOR\"})",
        summary: "The operator OPERATOR shows no metrics",
        description: "Prometheus has seen no process of the operator for 5 minutes. Probably none runs, and nothing is reconciled.",
    },
    Alert {
        name: "PilothouseNoLeader",
        severity: Severity::Critical,
        lasting: Some("5m"),
        expression: "max by (namespace, job, name) (leader_election_master_status and PROCESSES) == 0",
        summary: "No process of the operator OPERATOR leads",
        description: "Processes of the operator run, but for 5 minutes none of them has held the Lease {{ $labels.name }}. Nothing is reconciled.",
    },
    Alert {
        name: "PilothouseQueueStuck",
        severity: Severity::Critical,
        lasting: Some("5m"),
        // A standby has keys in its queue, too. Calls may take as long as the controller's timeout allows; the others 15 minutes.
        expression: "sum without (name, priority) (workqueue_depth and PROCESSES) > 0 \
             and on (job, instance, controller) rate(workqueue_work_duration_seconds_count[10m]) == 0 \
             unless on (job, instance, controller) (workqueue_longest_running_processor_seconds > 0 \
             <= on (job, instance, controller) clamp_min(pilothouse_controller_timeout_seconds, 900)) \
             unless on (job, instance) leader_election_master_status == 0",
        summary: "The controller {{ $labels.controller }} of OPERATOR does not finish any reconcile",
        description: "{{ $value }} objects wait in the queue of the controller {{ $labels.controller }}, but no reconcile has ended for 10 minutes, and those that run take longer than the timeout of the controller, or 15 minutes.",
    },
    Alert {
        name: "PilothouseReconcileErrors",
        severity: Severity::Warning,
        lasting: Some("15m"),
        expression: "sum without (result) (rate(controller_runtime_reconcile_total{result=\"error\"}[15m]) and PROCESSES) \
             / sum without (result) (rate(controller_runtime_reconcile_total[15m])) > 0.5",
        summary: "Most reconciles of the controller {{ $labels.controller }} of OPERATOR fail",
        description: "{{ $value | humanizePercentage }} of the reconciles of the controller {{ $labels.controller }} fail.",
    },
    Alert {
        name: "PilothouseCacheStale",
        severity: Severity::Warning,
        lasting: Some("5m"),
        // The API server sends something at least every minute, and a silent watch is replaced after 150 s.
        expression: "time() - (pilothouse_informer_last_event_timestamp_seconds and PROCESSES) > 300",
        summary: "OPERATOR does not see changes of {{ $labels.resource }}",
        description: "The operator has received nothing about {{ $labels.resource }} from the API server for more than 5 minutes, so it may work with old data.",
    },
    Alert {
        name: "PilothouseUndecodable",
        severity: Severity::Warning,
        lasting: Some("10m"),
        expression: "(pilothouse_informer_undecodable_objects and PROCESSES) > 0",
        summary: "OPERATOR cannot decode some {{ $labels.resource }}",
        description: "{{ $value }} objects of {{ $labels.resource }} do not fit the operator's Rust type. They are not reconciled.",
    },
    Alert {
        name: "PilothouseStopCutShort",
        severity: Severity::Warning,
        // The fact is over when it is seen, so the alert stays for 15 minutes.
        lasting: None,
        expression: "time() - (leader_election_expired_takeover_timestamp_seconds and PROCESSES) < 900",
        summary: "The last leader of OPERATOR did not stop in order",
        description: "The leader before this one did not release the Lease {{ $labels.name }}: its stop was cut short, it crashed, or it lost its connection to the API server. Nothing was reconciled until the Lease had expired.",
    },
];

/// The alerts of an operator, as the content of a rule file of Prometheus.
pub(crate) fn rules(installation: &Installation) -> Value {
    let operator = &installation.name;
    let text = |text: &str| {
        let text = text.replace("PROCESSES", PROCESSES);
        text.replace("OPERATOR", operator)
    };
    let rules = ALERTS.iter().map(|alert| {
        let severity = match alert.severity {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
        };
        let mut rule = json!({
            "alert": alert.name,
            "expr": text(alert.expression),
            "labels": {"severity": severity, "operator": operator},
            "annotations": {
                "summary": text(alert.summary),
                "description": alert.description,
                "runbook_url": format!("{RUNBOOK}#{}", alert.name.to_lowercase()),
            },
        });
        if let Some(time) = alert.lasting {
            rule["for"] = time.into();
        }
        rule
    });
    json!({"groups": [{"name": operator, "rules": rules.collect::<Vec<_>>()}]})
}

/// The same alerts for the Prometheus operator.
pub(crate) fn prometheus_rule(installation: &Installation) -> DynamicObject {
    let kind = ApiResource {
        group: "monitoring.coreos.com".into(),
        version: "v1".into(),
        kind: "PrometheusRule".into(),
        plural: "prometheusrules".into(),
        namespaced: true,
    };
    let mut rule = DynamicObject::new(&kind, "");
    rule.metadata = installation.within(&installation.namespace);
    rule.data.insert("spec".into(), rules(installation));
    rule
}
