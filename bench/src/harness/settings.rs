//! The settings from the command line.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::{
    part::Part,
    peer::{PEERS, Peer},
    trial::Trial,
    workload::{PACED_OBJECTS, PARKED_OBJECTS, WATCHED_OBJECTS, Workload},
};

/// Which parts are measured, with which peers and how often.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) quick: bool,
    /// The time limit of a peer.
    pub(super) limit: Duration,
    pub(super) rounds: usize,
    pub(super) objects: Vec<u64>,
    pub(super) events: u64,
    /// The number of modifications with stamps.
    pub(super) paced: u64,
    /// The number of Lease renewals, once before and once beside the watches.
    pub(super) renewals: u64,
    /// The number of objects that are scheduled for a later reconcile.
    pub(super) parked: u64,
    pub(super) only: Vec<Part>,
    pub(super) peers: Vec<Peer>,
    pub(super) seed: u64,
    pub(super) tls: bool,
    pub(super) touch: u64,
    pub(super) output: Option<PathBuf>,
}

/// Returns the arguments of the bench.
pub fn arguments() -> Vec<Arg> {
    let parts: Vec<_> = Part::ALL.iter().map(|part| part.name()).collect();
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_parser(value_parser!(u64))
            .help(help)
    };
    vec![
        Arg::new("quick").long("quick").action(ArgAction::SetTrue)
            .help("A smoke run: few objects, one round, peers in Rust with the system's allocator and without optimisation. Its times mean nothing"),
        number("rounds", "How often each peer runs [default: 5, or 1 if quick]"),
        number("objects", "How many Pods or ConfigMaps, several numbers separated by commas; latency and parked have their own numbers [default: 10000,50000, or 1000 if quick]").value_delimiter(','),
        number("events", "How many modifications [default: 200000, or 2000 if quick]"),
        Arg::new("only").long("only").value_delimiter(',').value_parser(parts).help("Measure only these tables"),
        Arg::new("without").long("without").value_delimiter(',').help("Leave out these peers: go, jemalloc, or the name of a peer"),
        number("seed", "Seed of the generated objects").default_value("1"),
        number("touch", "MiB of memory to touch once before each object count, so that the host has provided it [default: what the largest peer may need]"),
        Arg::new("tls").long("tls").action(ArgAction::SetTrue).help("HTTPS, and HTTP/2 for peers that support it"),
        Arg::new("output").long("output").short('o').value_name("FILE").value_parser(value_parser!(PathBuf)).help("File for the tables; plots over several object counts are written next to it [default: only the standard output]"),
    ]
}

impl Settings {
    pub(super) fn new(matches: &ArgMatches) -> Result<Self, String> {
        let quick = matches.get_flag("quick");
        let number = |name: &str, usual: u64, in_quick: u64| {
            matches
                .get_one(name)
                .copied()
                .unwrap_or(if quick { in_quick } else { usual })
        };
        let texts = |name: &str| {
            matches
                .get_many::<String>(name)
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
        };
        let mut objects: Vec<u64> = matches
            .get_many("objects")
            .into_iter()
            .flatten()
            .copied()
            .collect();
        if objects.is_empty() {
            objects = if quick {
                vec![1_000]
            } else {
                vec![10_000, 50_000]
            };
        }
        if let Some(count) = objects
            .iter()
            .find(|count| !(1..=1_000_000).contains(*count))
        {
            return Err(format!(
                "--objects {count}: the number must be from 1 to 1000000"
            ));
        }
        let (rounds, events) = (number("rounds", 5, 1), number("events", 200_000, 2_000));
        if rounds == 0 {
            return Err("--rounds 0: the number must be at least 1".to_owned());
        }
        // The limits keep the number of digits of resource versions, and a rate needs a first and a last event.
        if !(2..=50_000_000).contains(&events) {
            return Err(format!(
                "--events {events}: the number must be from 2 to 50000000"
            ));
        }
        let only = texts("only");
        let is_long = |part: &Part| matches!(part, Part::Watches | Part::Build);
        let is_asked = |part: &Part| only.iter().any(|name| name == part.name());
        if let Some(part) = Part::ALL
            .iter()
            .find(|part| quick && is_long(part) && is_asked(part))
        {
            return Err(format!(
                "--only {}: this part takes too long for a smoke run; leave out --quick",
                part.name()
            ));
        }
        let only = Part::ALL
            .into_iter()
            .filter(|part| match only.is_empty() {
                true => !quick || !is_long(part),
                false => is_asked(part),
            })
            .collect();
        let most = objects.iter().max().copied().unwrap_or(0);
        Ok(Self {
            quick,
            limit: Duration::from_secs(if quick { 120 } else { 900 }),
            rounds: rounds as usize,
            only,
            peers: peers(&texts("without"), quick)?,
            seed: number("seed", 1, 1),
            tls: matches.get_flag("tls"),
            // The largest peer needs 45 KB per Pod, and twice that with the garbage of modifications.
            touch: number("touch", 1024 + most * 90_000 / (1 << 20), 0),
            output: matches.get_one("output").cloned(),
            objects,
            events,
            paced: if quick { 1_000 } else { 5_000 },
            renewals: 1_000,
            parked: if quick { 1_000 } else { PARKED_OBJECTS },
        })
    }

    /// Whether the smallest operator of this peer is built.
    pub(super) fn builds(&self, peer: &Peer) -> bool {
        self.only.contains(&Part::Build) && peer.supports(Workload::Build)
    }

    /// Returns the trials in their order: those for each object count, then those with their own object count.
    pub(super) fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        let wants = |workload| self.only.iter().any(|part| part.workload() == workload);
        let mut add = |workload, objects, events, percent| {
            if wants(workload) {
                trials.push(Trial {
                    workload,
                    objects,
                    events,
                    percent,
                });
            }
        };
        let modified = self.only.contains(&Part::Modified);
        for objects in self.objects.iter().copied() {
            add(
                Workload::Cache,
                objects,
                if modified { self.events } else { 0 },
                0,
            );
            add(Workload::Reconcile, objects, 0, 0);
            add(Workload::Apply, objects, 0, 0);
            add(Workload::Owned, objects, 0, 0);
            // A smoke run only shows quickly that the workload works.
            let percents: &[u64] = if self.quick { &[10] } else { &[0, 10, 100] };
            for percent in percents.iter().copied() {
                add(Workload::Relist, objects, 0, percent);
            }
            add(Workload::Churn, objects, self.events, 0);
        }
        add(Workload::Latency, PACED_OBJECTS, self.paced, 0);
        let fewest = self.objects.iter().min().copied().unwrap_or(1);
        add(Workload::Allocations, fewest, self.events, 0);
        add(Workload::Parked, self.parked, 0, 0);
        add(Workload::Watches, WATCHED_OBJECTS, self.renewals, 0);
        add(Workload::Build, 0, 0, 0);
        trials
    }
}

/// Returns the peers that are not left out.
pub(super) fn peers(without: &[String], quick: bool) -> Result<Vec<Peer>, String> {
    let is = |peer: &Peer, name: &str| match name {
        "go" => peer.is_go(),
        "jemalloc" => !peer.is_plain(),
        name => peer.name == name,
    };
    for name in without {
        if !PEERS.iter().any(|peer| is(peer, name)) {
            let names = PEERS.map(|peer| peer.name).join(", ");
            return Err(format!(
                "--without {name}: the name must be go, jemalloc, or one of {names}"
            ));
        }
    }
    let left: Vec<_> = PEERS
        .into_iter()
        .filter(|peer| !quick || (peer.is_plain() && !peer.is_go() && peer.is_run()))
        .filter(|peer| !without.iter().any(|name| is(peer, name)))
        .collect();
    if left.is_empty() {
        Err("--without: no peer is left".to_owned())
    } else {
        Ok(left)
    }
}
