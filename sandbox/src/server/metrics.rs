//! `/metrics`: the names and labels of a real server, in the text format of Prometheus.

use std::fmt::{Display, Write as _};

use http::Response;

use super::respond::{self, Body};
use crate::builtin;
use crate::core::Core;
use crate::record::{BUCKETS, Labels, RecordedRequest};
use crate::registry::GroupResource;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the labels of a request. Returns `None` if the path does not belong to a resource that the server serves. Otherwise clients could
/// add labels without end.
pub(super) fn labels(core: &Core, request: &RecordedRequest, dry_run: bool) -> Option<Labels> {
    let registry = core.registry();
    let kind = registry.find(&request.group, &request.version, &request.resource)?;
    let is_served = match request.subresource.as_str() {
        "" => true,
        "status" | "scale" if kind.is_custom() => true,
        name => builtin::subresource(kind, name).is_some(),
    };
    (is_served && !request.verb.is_empty()).then(|| Labels::of(request, dry_run))
}

/// The page.
pub(super) fn handle(core: &Core) -> Response<Body> {
    respond::bytes(200, TEXT, page(core))
}

fn page(core: &Core) -> String {
    let mut page = Page::default();
    let (reading, writing) = core.metrics.in_flight();
    page.family(
        "apiserver_current_inflight_requests",
        "gauge",
        "Requests that are being answered, watches not included.",
    );
    for (kind, count) in [("mutating", writing), ("readOnly", reading)] {
        page.sample("", &format!("request_kind=\"{kind}\""), count);
    }
    page.family(
        "apiserver_longrunning_requests",
        "gauge",
        "Watches that are open.",
    );
    for (labels, count) in core.faults.watches().by_labels() {
        page.sample("", &shown(&labels, false), count);
    }
    page.family(
        "apiserver_request_duration_seconds",
        "histogram",
        "Time from a request to its answer, in seconds.",
    );
    for (labels, durations) in core.metrics.durations() {
        let (labels, mut count) = (shown(&labels, true), 0);
        for (index, inside) in durations.counts.iter().enumerate() {
            count += inside;
            let bound = BUCKETS.get(index);
            let bound = bound.map_or("+Inf".to_owned(), f64::to_string);
            page.sample("_bucket", &format!("{labels},le=\"{bound}\""), count);
        }
        page.sample("_sum", &labels, durations.sum);
        page.sample("_count", &labels, count);
    }
    page.family(
        "apiserver_request_total",
        "counter",
        "Requests that were answered.",
    );
    for ((labels, status), count) in core.metrics.requests() {
        let labels = shown(&labels, true);
        page.sample("", &format!("code=\"{status}\",{labels}"), count);
    }
    let counts = core.store.counts();
    page.family("apiserver_resource_objects", "gauge", "Objects of a kind.");
    for (GroupResource { group, resource }, count) in &counts {
        page.sample("", &format!("group={group:?},resource={resource:?}"), count);
    }
    page.family(
        "apiserver_storage_objects",
        "gauge",
        "Objects of a kind, under the older name of the metric.",
    );
    for (resource, count) in counts {
        page.sample("", &format!("resource=\"{resource}\""), count);
    }
    process(&mut page);
    page.text
}

fn shown(labels: &Labels, dry_run: bool) -> String {
    let Labels {
        group,
        version,
        resource,
        subresource,
        verb,
        scope,
        ..
    } = labels;
    let dry_run = match (dry_run, labels.dry_run) {
        (false, _) => "",
        (true, false) => ",dry_run=\"\"",
        (true, true) => ",dry_run=\"All\"",
    };
    format!(
        "component=\"apiserver\"{dry_run},group={group:?},resource={resource:?},scope={scope:?},subresource={subresource:?},verb={verb:?},version={version:?}"
    )
}

/// The process. Other systems than Linux do not show it in files.
fn process(page: &mut Page) {
    // The unit of times in `/proc`, which Linux has fixed at a hundredth of a second.
    const TICKS: f64 = 100.0;
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let stat = read("/proc/self/stat");
    // The name of the program, in brackets, may have spaces in it.
    let fields: Vec<&str> = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |index: usize| Some(fields.get(index)?.parse::<f64>().ok()? / TICKS);
    let status = read("/proc/self/status");
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let number: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(number * 1024.0)
    };
    let boot = read("/proc/stat");
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "));
    let boot: Option<f64> = boot.and_then(|boot| boot.parse().ok());
    let files = std::fs::read_dir("/proc/self/fd")
        .ok()
        .map(|files| files.count() as f64);
    for (name, kind, help, value) in [
        (
            "process_cpu_seconds_total",
            "counter",
            "Time that the process has used processors, in seconds.",
            ticks(11).zip(ticks(12)).map(|(user, system)| user + system),
        ),
        (
            "process_open_fds",
            "gauge",
            "Open files of the process.",
            files,
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Memory of the process that is in use, in bytes.",
            kilobytes("VmRSS:"),
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "When the process started, in seconds since 1970.",
            boot.zip(ticks(19)).map(|(boot, started)| boot + started),
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Address space of the process, in bytes.",
            kilobytes("VmSize:"),
        ),
    ] {
        if let Some(value) = value {
            page.family(name, kind, help);
            page.sample("", "", value);
        }
    }
}

#[derive(Default)]
struct Page {
    text: String,
    name: &'static str,
}

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        self.text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, suffix: &str, labels: &str, value: impl Display) {
        let name = self.name;
        let labels = match labels {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        // A `String` always takes it.
        let _ = writeln!(self.text, "{name}{suffix}{labels} {value}");
    }
}
