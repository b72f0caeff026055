//! The text of the report around its tables.

use std::{fmt::Write, process::Command};

use super::{
    machine,
    part::Part,
    peer::Peer,
    settings::Settings,
    table::{self, Row},
    trial::Trial,
};
use crate::{generator::Kind, keeper::Keeping, reader::Reading, waiter::Waiting, writer::Writing};

/// Returns the head of the report: machine, versions and settings. `versions` are those of crates and modules.
pub(super) fn head(settings: &Settings, versions: &str) -> String {
    let mut text = String::from("# Side by side with the peers\n\n");
    if settings.quick {
        text.push_str("A smoke run, built without optimisation: its times mean nothing.\n\n");
    }
    let transport = if settings.tls {
        "TLS; HTTP/2 or HTTP/1.1, as each peer asks for"
    } else {
        "cleartext, HTTP/1.1"
    };
    let lacks = match (settings.watch_list, settings.limit_is_ignored) {
        (true, false) => "",
        (false, false) => ", without WatchList",
        (true, true) => ", which ignores `limit`",
        (false, true) => ", without WatchList, which ignores `limit`",
    };
    let _ = writeln!(
        text,
        "* Machine: {}\n* Versions: {}, {}; {versions}\n* Server: the bench's own, {transport}{lacks}, JSON or protobuf as each peer asks for, no compression; \
         objects of seed {}\n* Rounds: {}; a cell is the median (smallest–largest) and ×ratio to the best peer's median; Pilothouse is not its own peer\n\
         * Modifications: {}; with stamps, for latency: {}\n{}* A run does not count if other processes or the host took more than {:.0} % of the machine\n",
        machine::describe(),
        version("rustc", "--version"),
        version("go", "version"),
        settings.seed,
        settings.rounds,
        settings.events,
        settings.paced,
        settings.caps(),
        super::run::DISTURBED * 100.0
    );
    text
}

fn version(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    output.map_or_else(
        |_| format!("no {program}"),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Returns how fast the server alone answers a reader that discards all bytes.
pub(super) fn raw(
    kind: Kind,
    objects: u64,
    protobuf: bool,
    list: &Reading,
    streamed: Option<&Reading>,
    events: &Reading,
) -> String {
    let rate = |count: u64, reading: &Reading| count as f64 / reading.seconds.max(1e-9);
    let streamed = streamed.map_or_else(String::new, |streamed| {
        format!(
            "{:.0} objects/s of a streamed list, ",
            rate(objects, streamed)
        )
    });
    format!(
        "## The server alone, {objects} {}, {}\n\nA reader that discards all bytes gets {:.0} objects/s of a list ({} bytes and {:.1} µs of processor time each), {streamed}\
         {:.0} modifications/s.\n\n",
        kind.plural(),
        if protobuf { "protobuf" } else { "JSON" },
        rate(objects, list),
        list.bytes / objects.max(1),
        list.cpu * 1e6 / objects.max(1) as f64,
        rate(events.events, events)
    )
}

/// Returns the time that decoding into the types takes without anything else.
pub(super) fn types(keeping: &Keeping) -> String {
    let each = |all: f64| all / keeping.objects.max(1) as f64;
    format!(
        "## The types alone, {} Pods, JSON\n\nserde_json decodes each Pod from memory into k8s-openapi's type and the program keeps it; its JSON has no managed fields ({:.0} bytes each): \
         {:.1} µs of processor time each.\n\n",
        keeping.objects,
        each(keeping.bytes as f64),
        each(keeping.cpu * 1e6)
    )
}

/// Returns how fast the server alone takes applies from a writer that does nothing else.
pub(super) fn raw_applies(writing: &Writing) -> String {
    format!(
        "## The server alone, {} applies\n\nA writer that only copies bytes, on 16 connections, sends {:.0} applies/s, {:.1} µs of processor time each.\n\n",
        writing.applies,
        writing.applies as f64 / writing.seconds.max(1e-9),
        writing.cpu * 1e6 / writing.applies.max(1) as f64
    )
}

/// Returns the latency of an event for a thread that only waits for it.
pub(super) fn raw_events(waiting: &Waiting) -> String {
    format!(
        "## The server alone, {} stamped events\n\nA thread that only waits for events gets them after: p50 {:.0} µs, p99 {:.0} µs.\n\n",
        waiting.stamps, waiting.p50, waiting.p99
    )
}

/// Returns the tables of a trial.
pub(super) fn tables(parts: &[Part], trial: &Trial, rows: &[Row]) -> String {
    let mut text = String::new();
    for part in parts
        .iter()
        .filter(|part| part.workload() == trial.workload)
    {
        let objects = match trial.kind {
            Some(_) if trial.objects > 1 => format!(", {} objects", trial.objects),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "## {}{objects}\n\n{}",
            part.title(trial),
            table::table(part.measures(), rows)
        );
    }
    text
}

/// Returns the list of the peers' settings.
pub(super) fn peers(peers: &[Peer]) -> String {
    let mut text = String::from("## Settings\n\n");
    for peer in peers {
        let allocator = match (peer.is_go(), peer.allocator()) {
            (true, _) => "Go's allocator, default GOGC",
            (false, None) => "the system's allocator",
            (false, Some(name)) => name,
        };
        let _ = writeln!(
            text,
            "* **{}** ({allocator}): {}.",
            peer.name, peer.settings
        );
    }
    text
}
