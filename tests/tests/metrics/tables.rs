//! The expected metrics.

/// Name, type, labels and buckets of a metric.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Seconds of a reconcile.
pub(crate) const RECONCILE: &[&str] = &[
    "0.005", "0.01", "0.025", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45",
    "0.5", "0.6", "0.7", "0.8", "0.9", "1", "1.25", "1.5", "1.75", "2", "2.5", "3", "3.5", "4",
    "4.5", "5", "6", "7", "8", "9", "10", "15", "20", "25", "30", "40", "50", "60", "+Inf",
];

/// Seconds in a workqueue, rounding errors included: dashboards compare the text.
pub(crate) const QUEUE: &[&str] = &[
    "1e-08",
    "1e-07",
    "1e-06",
    "9.999999999999999e-06",
    "9.999999999999999e-05",
    "0.001",
    "0.01",
    "0.1",
    "1",
    "10",
    "100",
    "1000",
    "+Inf",
];

pub(crate) const CONTROLLER: &[&str] = &["controller"];
pub(crate) const WORKQUEUE: &[&str] = &["controller", "name"];

/// Seconds of a request.
pub(crate) const REQUEST: &[&str] = &[
    "0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60", "+Inf",
];

/// Bytes of a request or an answer in Go's number format.
pub(crate) const BYTES: &[&str] = &[
    "64",
    "256",
    "512",
    "1024",
    "4096",
    "16384",
    "65536",
    "262144",
    "1.048576e+06",
    "4.194304e+06",
    "1.6777216e+07",
    "+Inf",
];

/// Seconds in the life of a client certificate: from ten minutes to four years.
pub(crate) const CERTIFICATE: &[&str] = &[
    "600",
    "1800",
    "3600",
    "14400",
    "86400",
    "604800",
    "2.592e+06",
    "7.776e+06",
    "1.5552e+07",
    "3.1104e+07",
    "1.24416e+08",
    "+Inf",
];

/// The metrics of client-go for a client that sends requests; controller-runtime has the first five.
pub(crate) const CLIENT: &[Row] = &[
    (
        "rest_client_requests_total",
        "counter",
        &["code", "host", "method"],
        &[],
    ),
    (
        "rest_client_request_retries_total",
        "counter",
        &["code", "host", "verb"],
        &[],
    ),
    (
        "rest_client_request_duration_seconds",
        "histogram",
        &["host", "verb"],
        REQUEST,
    ),
    (
        "rest_client_request_size_bytes",
        "histogram",
        &["host", "verb"],
        BYTES,
    ),
    (
        "rest_client_response_size_bytes",
        "histogram",
        &["host", "verb"],
        BYTES,
    ),
    (
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        &["host", "verb"],
        REQUEST,
    ),
    (
        "rest_client_dns_resolution_duration_seconds",
        "histogram",
        &["host"],
        REQUEST,
    ),
    ("rest_client_exec_plugin_ttl_seconds", "gauge", &[], &[]),
    (
        "rest_client_exec_plugin_certificate_rotation_age",
        "histogram",
        &[],
        CERTIFICATE,
    ),
    (
        "rest_client_exec_plugin_call_total",
        "counter",
        &["call_status", "code"],
        &[],
    ),
    (
        "rest_client_exec_plugin_policy_call_total",
        "counter",
        &["allowed", "denied"],
        &[],
    ),
    ("rest_client_transport_cache_entries", "gauge", &[], &[]),
    (
        "rest_client_transport_ca_reload_total",
        "counter",
        &["reason", "result"],
        &[],
    ),
];

/// Name, type, labels and bucket bounds of the metrics of controller-runtime 0.25, without webhooks.
pub(crate) const TABLE: &[Row] = &[
    (
        "controller_runtime_reconcile_total",
        "counter",
        &["controller", "result"],
        &[],
    ),
    (
        "controller_runtime_reconcile_errors_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_terminal_reconcile_errors_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_panics_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_timeouts_total",
        "counter",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        CONTROLLER,
        RECONCILE,
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        CONTROLLER,
        &[],
    ),
    (
        "controller_runtime_active_workers",
        "gauge",
        CONTROLLER,
        &[],
    ),
    (
        "workqueue_depth",
        "gauge",
        &["controller", "name", "priority"],
        &[],
    ),
    ("workqueue_adds_total", "counter", WORKQUEUE, &[]),
    (
        "workqueue_queue_duration_seconds",
        "histogram",
        WORKQUEUE,
        QUEUE,
    ),
    (
        "workqueue_work_duration_seconds",
        "histogram",
        WORKQUEUE,
        QUEUE,
    ),
    ("workqueue_unfinished_work_seconds", "gauge", WORKQUEUE, &[]),
    (
        "workqueue_longest_running_processor_seconds",
        "gauge",
        WORKQUEUE,
        &[],
    ),
    ("workqueue_retries_total", "counter", WORKQUEUE, &[]),
];

/// The metrics of controller-runtime for an election and for the serving certificate, followed by ours for an election.
pub(crate) const SERVED: &[Row] = &[
    ("leader_election_master_status", "gauge", &["name"], &[]),
    ("leader_election_slowpath_total", "counter", &["name"], &[]),
    ("certwatcher_read_certificate_total", "counter", &[], &[]),
    (
        "certwatcher_read_certificate_errors_total",
        "counter",
        &[],
        &[],
    ),
    (
        "leader_election_renew_duration_seconds",
        "histogram",
        &["name"],
        REQUEST,
    ),
    (
        "leader_election_fence_refusals_total",
        "counter",
        &["name"],
        &[],
    ),
    (
        "leader_election_expired_takeover_timestamp_seconds",
        "gauge",
        &["name"],
        &[],
    ),
];

/// Seconds of work in an informer.
pub(crate) const INFORMER: &[&str] = &[
    "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5",
    "10", "+Inf",
];

pub(crate) const KIND: &[&str] = &["group", "name", "resource", "version"];

/// The metrics of client-go for informers.
pub(crate) const INFORMERS: &[Row] = &[
    ("informer_queued_items", "gauge", KIND, &[]),
    (
        "informer_processing_latency_seconds",
        "histogram",
        KIND,
        INFORMER,
    ),
    ("informer_store_resource_version", "gauge", KIND, &[]),
];

/// The metrics of Pilothouse for lists, watches and its build.
pub(crate) const OWN: &[Row] = &[
    (
        "pilothouse_informer_list_duration_seconds",
        "histogram",
        &["resource"],
        REQUEST,
    ),
    (
        "pilothouse_informer_watch_events_total",
        "counter",
        &["resource", "type"],
        &[],
    ),
    (
        "pilothouse_build_info",
        "gauge",
        &[
            "kubernetes",
            "operator",
            "operator_version",
            "rustc",
            "version",
        ],
        &[],
    ),
];
