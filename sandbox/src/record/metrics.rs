use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::RecordedRequest;

/// The upper bounds of the buckets of durations, in seconds: those of a real server.
pub(crate) const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// What the metrics of a real server tell apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) verb: &'static str,
    pub(crate) scope: &'static str,
    pub(crate) dry_run: bool,
}

/// Counts of the requests that were answered, and of those in flight.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(Labels, u16), u64>>,
    durations: Mutex<BTreeMap<Labels, Durations>>,
    reading: AtomicU64,
    writing: AtomicU64,
}

/// Durations of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    /// How many are in each bucket and in none of those before it. The last is for those in no bucket.
    pub(crate) counts: [u64; BUCKETS.len() + 1],
    /// In seconds.
    pub(crate) sum: f64,
}

/// Counts a request as in flight until it is dropped.
pub(crate) struct InFlight<'a>(&'a AtomicU64);

impl Metrics {
    /// Counts a request until the result is dropped.
    pub(crate) fn begin(&self, writes: bool) -> InFlight<'_> {
        let counter = if writes { &self.writing } else { &self.reading };
        counter.fetch_add(1, Ordering::Relaxed);
        InFlight(counter)
    }

    /// Counts a request that was answered. Without a duration it still runs, as a watch does.
    pub(crate) fn answered(&self, labels: Labels, status: u16, duration: Option<Duration>) {
        if let Some(duration) = duration {
            let seconds = duration.as_secs_f64();
            let bucket = BUCKETS.iter().position(|bound| seconds <= *bound);
            let mut all = self.durations.lock();
            let durations = match all.get_mut(&labels) {
                Some(durations) => durations,
                None => all.entry(labels.clone()).or_default(),
            };
            durations.counts[bucket.unwrap_or(BUCKETS.len())] += 1;
            durations.sum += seconds;
        }
        *self.requests.lock().entry((labels, status)).or_default() += 1;
    }

    pub(crate) fn requests(&self) -> BTreeMap<(Labels, u16), u64> {
        self.requests.lock().clone()
    }

    pub(crate) fn durations(&self) -> BTreeMap<Labels, Durations> {
        self.durations.lock().clone()
    }

    /// How many requests that read and how many that write are in flight.
    pub(crate) fn in_flight(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.reading), read(&self.writing))
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Labels {
    /// The labels of a request for a resource that is served.
    pub(crate) fn of(request: &RecordedRequest, dry_run: bool) -> Self {
        let is_connection = matches!(
            request.subresource.as_str(),
            "exec" | "attach" | "portforward" | "proxy"
        );
        let verb = match request.verb.as_str() {
            _ if is_connection => "CONNECT",
            "get" => "GET",
            "list" => "LIST",
            "watch" => "WATCH",
            "create" => "POST",
            "update" => "PUT",
            "patch" if request.content_type.starts_with("application/apply-patch+") => "APPLY",
            "patch" => "PATCH",
            "delete" => "DELETE",
            "deletecollection" => "DELETECOLLECTION",
            _ => "other",
        };
        let scope = match (request.name.as_str(), request.namespace.as_str()) {
            ("", _) if request.verb == "create" => "resource",
            ("", "") => "cluster",
            ("", _) => "namespace",
            _ => "resource",
        };
        Self {
            group: request.group.clone(),
            version: request.version.clone(),
            resource: request.resource.clone(),
            subresource: request.subresource.clone(),
            verb,
            scope,
            dry_run,
        }
    }

    /// Whether requests of this kind stay open after they were answered.
    pub(crate) fn is_long_running(&self) -> bool {
        matches!(self.verb, "WATCH" | "CONNECT")
    }
}
