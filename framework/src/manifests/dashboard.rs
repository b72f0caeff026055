use serde_json::{Value, json};

use super::Installation;

/// A panel of the dashboard.
struct Panel {
    title: &'static str,
    /// What the panel shows, and when a person should look further.
    description: &'static str,
    /// Grafana's name of the unit.
    unit: &'static str,
    /// Queries with the text of their legend. `PROCESS` selects the operator's processes, `CONTROLLER` those of the
    /// controllers that were chosen, too.
    queries: &'static [(&'static str, &'static str)],
}

/// The matchers of all series of the operator. The variable `job` is hidden: it holds the jobs of the operator's processes.
const PROCESS: &str = r#"namespace=~"$namespace", job=~"$job""#;

/// The panels by row. Each row has one subject.
const ROWS: [(&str, &[Panel]); 5] = [
    (
        "Reconciles",
        &[
            Panel {
                title: "Reconciles",
                description: "Reconciles per second, by controller and result.",
                unit: "ops",
                queries: &[(
                    "sum by (controller, result) (rate(controller_runtime_reconcile_total{CONTROLLER}[$__rate_interval]))",
                    "{{controller}} {{result}}",
                )],
            },
            Panel {
                title: "Failures",
                description: "Failed reconciles per second: errors, and of these the panics and the timeouts.",
                unit: "ops",
                queries: &[
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_errors_total{CONTROLLER}[$__rate_interval]))",
                        "{{controller}} errors",
                    ),
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_panics_total{CONTROLLER}[$__rate_interval]))",
                        "{{controller}} panics",
                    ),
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_timeouts_total{CONTROLLER}[$__rate_interval]))",
                        "{{controller}} timeouts",
                    ),
                ],
            },
            Panel {
                title: "Duration of a reconcile",
                description: "The median and the slowest hundredth.",
                unit: "s",
                queries: &[
                    (
                        "histogram_quantile(0.5, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{CONTROLLER}[$__rate_interval])))",
                        "{{controller}} median",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{CONTROLLER}[$__rate_interval])))",
                        "{{controller}} 99 %",
                    ),
                ],
            },
        ],
    ),
    (
        "Queue",
        &[
            Panel {
                title: "Waiting objects",
                description: "Objects that are ready and wait for a worker. A standby has waiting objects, too.",
                unit: "short",
                queries: &[(
                    "sum by (controller, pod) (workqueue_depth{CONTROLLER})",
                    "{{controller}} {{pod}}",
                )],
            },
            Panel {
                title: "Time from a change to its reconcile",
                description: "From the moment when the cache receives a change to the start of the reconcile: the median and the slowest hundredth.",
                unit: "s",
                queries: &[
                    (
                        "histogram_quantile(0.5, sum by (controller, le) (rate(pilothouse_controller_event_to_reconcile_seconds_bucket{CONTROLLER}[$__rate_interval])))",
                        "{{controller}} median",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (controller, le) (rate(pilothouse_controller_event_to_reconcile_seconds_bucket{CONTROLLER}[$__rate_interval])))",
                        "{{controller}} 99 %",
                    ),
                ],
            },
            Panel {
                title: "Oldest running reconcile",
                description: "How long the oldest reconcile has been running. A line that only grows is a reconcile that hangs.",
                unit: "s",
                queries: &[(
                    "max by (controller) (workqueue_longest_running_processor_seconds{CONTROLLER})",
                    "{{controller}}",
                )],
            },
        ],
    ),
    (
        "Caches",
        &[
            Panel {
                title: "Cached objects",
                description: "Objects in the caches by kind, and those that do not fit the Rust type.",
                unit: "short",
                queries: &[
                    (
                        "max by (resource) (pilothouse_informer_objects{PROCESS})",
                        "{{resource}}",
                    ),
                    (
                        "max by (resource) (pilothouse_informer_undecodable_objects{PROCESS})",
                        "{{resource}} undecodable",
                    ),
                ],
            },
            Panel {
                title: "Age of the caches",
                description: "Time since the API server last sent something about a kind. It sends a bookmark about every minute.",
                unit: "s",
                queries: &[(
                    "max by (resource) (time() - pilothouse_informer_last_event_timestamp_seconds{PROCESS})",
                    "{{resource}}",
                )],
            },
            Panel {
                title: "Opened watches",
                description: "Watches that were opened per minute, by kind and reason. `closed` is normal every few minutes.",
                unit: "cpm",
                queries: &[(
                    "60 * sum by (resource, reason) (rate(pilothouse_informer_watches_total{PROCESS}[$__rate_interval]))",
                    "{{resource}} {{reason}}",
                )],
            },
            Panel {
                title: "Waits for own writes",
                description: "Reconciles per second that wait until the caches hold what the last one wrote, and how long the slowest hundredth waits.",
                unit: "short",
                queries: &[
                    (
                        "sum by (controller) (rate(stale_sync_skips_total{CONTROLLER}[$__rate_interval]))",
                        "{{controller}} per second",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (controller, le) (rate(pilothouse_controller_stale_wait_seconds_bucket{CONTROLLER}[$__rate_interval])))",
                        "{{controller}} 99 %, seconds",
                    ),
                ],
            },
        ],
    ),
    (
        "API server",
        &[
            Panel {
                title: "Requests",
                description: "Requests per second, by method and status code.",
                unit: "reqps",
                queries: &[(
                    "sum by (method, code) (rate(rest_client_requests_total{PROCESS}[$__rate_interval]))",
                    "{{method}} {{code}}",
                )],
            },
            Panel {
                title: "Failed requests",
                description: "The share of requests that got no response, or one with a status code of 400 or above. Conflicts (409) and missing objects (404) are normal in small numbers.",
                unit: "percentunit",
                queries: &[(
                    "(sum(rate(rest_client_requests_total{PROCESS, code!~\"[123]..\"}[$__rate_interval])) or vector(0)) / sum(rate(rest_client_requests_total{PROCESS}[$__rate_interval]))",
                    "failed",
                )],
            },
            Panel {
                title: "Duration of a request",
                description: "The slowest hundredth, with retries, by method.",
                unit: "s",
                queries: &[(
                    "histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket{PROCESS}[$__rate_interval])))",
                    "{{verb}}",
                )],
            },
        ],
    ),
    (
        "Processes",
        &[
            Panel {
                title: "Leader",
                description: "1 for the process that leads, 0 for those that stand by. Without a leader election there is nothing to show.",
                unit: "short",
                queries: &[(
                    "leader_election_master_status{PROCESS}",
                    "{{pod}} {{instance}}",
                )],
            },
            Panel {
                title: "Processor",
                description: "Processor cores in use.",
                unit: "short",
                queries: &[(
                    "rate(process_cpu_seconds_total{PROCESS}[$__rate_interval])",
                    "{{pod}} {{instance}}",
                )],
            },
            Panel {
                title: "Memory",
                description: "Resident memory.",
                unit: "bytes",
                queries: &[(
                    "process_resident_memory_bytes{PROCESS}",
                    "{{pod}} {{instance}}",
                )],
            },
            Panel {
                title: "Open files",
                description: "Open file descriptors, sockets included.",
                unit: "short",
                queries: &[("process_open_fds{PROCESS}", "{{pod}} {{instance}}")],
            },
        ],
    ),
];

/// Grafana's dashboard for an operator.
pub(crate) fn dashboard(installation: &Installation) -> Value {
    let operator = &installation.name;
    let build = format!("pilothouse_build_info{{operator=\"{operator}\"");
    let variables = [
        json!({"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}),
        variable(
            "namespace",
            Some("Namespace"),
            &format!("label_values({build}}}, namespace)"),
        ),
        variable(
            "job",
            None,
            &format!("label_values({build}, namespace=~\"$namespace\"}}, job)"),
        ),
        variable(
            "controller",
            Some("Controller"),
            &format!("label_values(controller_runtime_reconcile_total{{{PROCESS}}}, controller)"),
        ),
    ];
    json!({
        "title": format!("Operator {operator}"),
        "uid": format!("pilothouse-{operator}").chars().take(LONGEST_UID).collect::<String>(),
        "tags": ["pilothouse"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels(),
    })
}

/// The limit of Grafana.
const LONGEST_UID: usize = 40;

/// A variable that the user chooses, or a hidden one if it has no label. `All` also matches series without the label.
fn variable(name: &str, label: Option<&str>, query: &str) -> Value {
    const HIDDEN: u8 = 2;
    json!({
        "name": name,
        "label": label,
        "hide": if label.is_some() { 0 } else { HIDDEN },
        "type": "query",
        "datasource": source(),
        "definition": query,
        "query": {"query": query, "refId": name},
        // Again when the time range changes.
        "refresh": 2,
        "multi": true,
        "includeAll": true,
        // The hidden variable must hold the operator's own jobs, so its `All` is the list of them.
        "allValue": label.map(|_| ".*"),
        "current": {"text": ["All"], "value": ["$__all"]},
    })
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// The panels of each row share its width.
fn panels() -> Vec<Value> {
    const WIDTH: usize = 24;
    const HEIGHT: usize = 8;
    let mut all = Vec::new();
    let mut top = 0;
    for (title, row) in &ROWS {
        let place = json!({"x": 0, "y": top, "w": WIDTH, "h": 1});
        all.push(json!({"id": all.len() + 1, "type": "row", "title": title, "gridPos": place, "panels": []}));
        top += 1;
        let width = WIDTH / row.len();
        for (number, one) in row.iter().enumerate() {
            let place = json!({"x": number * width, "y": top, "w": width, "h": HEIGHT});
            let mut panel = panel(one);
            panel["id"] = (all.len() + 1).into();
            panel["gridPos"] = place;
            all.push(panel);
        }
        top += HEIGHT;
    }
    all
}

fn panel(panel: &Panel) -> Value {
    let targets = panel.queries.iter().zip('A'..).map(|((query, legend), id)| {
        let query = query
            .replace(
                "CONTROLLER",
                &format!("{PROCESS}, controller=~\"$controller\""),
            )
            .replace("PROCESS", PROCESS);
        json!({"refId": id.to_string(), "datasource": source(), "expr": query, "legendFormat": legend})
    });
    json!({
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": source(),
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": targets.collect::<Vec<_>>(),
    })
}
