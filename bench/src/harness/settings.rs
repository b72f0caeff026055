//! The settings from the command line.

use std::{fmt::Write, path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::{
    part::Part,
    peer::{PEERS, Peer},
    trial::Trial,
    workload::{
        CHANGED_EVENTS, CHANGED_OBJECTS, EXIT_OBJECTS, IDLE_SECONDS, PACED_OBJECTS, PARKED_OBJECTS,
        WATCHED_OBJECTS, Workload,
    },
};
use crate::generator::Kind;

/// Which parts are measured, with which peers and how often.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) quick: bool,
    /// The time limit of a peer.
    pub(super) limit: Duration,
    pub(super) rounds: usize,
    pub(super) objects: Vec<u64>,
    pub(super) events: u64,
    /// The kinds of the caches.
    pub(super) shapes: Vec<Kind>,
    /// Whether Go is there, which writes the objects in protobuf.
    pub(super) go: bool,
    /// The number of modifications with stamps.
    pub(super) paced: u64,
    /// The number of objects that change at a rate, and of their changes.
    pub(super) changed: (u64, u64),
    /// The number of Lease renewals, once before and once beside the watches.
    pub(super) renewals: u64,
    /// The seconds that idle caches are watched.
    pub(super) idle: u64,
    /// The number of objects of the process that is told to end.
    pub(super) exit: u64,
    /// The number of objects that are scheduled for a later reconcile.
    pub(super) parked: u64,
    pub(super) only: Vec<Part>,
    pub(super) peers: Vec<Peer>,
    pub(super) seed: u64,
    pub(super) tls: bool,
    /// Whether the server has WatchList.
    pub(super) watch_list: bool,
    pub(super) limit_is_ignored: bool,
    pub(super) touch: u64,
    pub(super) output: Option<PathBuf>,
}

/// Returns the arguments of the bench.
pub fn arguments() -> Vec<Arg> {
    let shapes = Kind::SHAPES.map(Kind::shape);
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
        number("objects", "How many Pods or ConfigMaps, several numbers separated by commas; latency, paced, idle, exit and parked have their own numbers [default: 10000,50000, or 1000 if quick]").value_delimiter(','),
        number("events", "How many modifications [default: 200000, or 2000 if quick]"),
        Arg::new("only").long("only").value_delimiter(',').value_parser(parts).help("Measure only these tables"),
        Arg::new("shape").long("shape").value_delimiter(',').value_parser(shapes).help("The objects of sync, modified, relist, churn, paced and allocations, one table for each [default: pods, or all if quick]"),
        Arg::new("without").long("without").value_delimiter(',').help("Leave out these peers: go, jemalloc (all with an allocator of their own), or the name of a peer"),
        number("seed", "Seed of the generated objects").default_value("1"),
        number("touch", "MiB of memory to touch once before each object count, so that the host has provided it [default: what the largest peer may need]"),
        Arg::new("tls").long("tls").action(ArgAction::SetTrue).help("HTTPS, and HTTP/2 for peers that support it"),
        Arg::new("without-watch-list").long("without-watch-list").action(ArgAction::SetTrue).help("The server refuses to stream lists, as an old one does. Peers that need it are left out"),
        Arg::new("ignore-limit").long("ignore-limit").action(ArgAction::SetTrue).help("The server ignores the limit of a list"),
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
        let shapes = texts("shape");
        let is_chosen = |kind: &Kind| match shapes.is_empty() {
            true => quick || *kind == Kind::Pod,
            false => shapes.iter().any(|name| name == kind.shape()),
        };
        let most = objects.iter().max().copied().unwrap_or(0);
        Ok(Self {
            quick,
            limit: Duration::from_secs(if quick { 120 } else { 900 }),
            rounds: rounds as usize,
            only,
            shapes: Kind::SHAPES.into_iter().filter(is_chosen).collect(),
            go: !texts("without").iter().any(|name| name == "go"),
            peers: peers(
                &texts("without"),
                quick,
                !matches.get_flag("without-watch-list"),
            )?,
            seed: number("seed", 1, 1),
            tls: matches.get_flag("tls"),
            watch_list: !matches.get_flag("without-watch-list"),
            limit_is_ignored: matches.get_flag("ignore-limit"),
            // The largest peer needs 45 KB per Pod, and twice that with the garbage of modifications.
            touch: number("touch", 1024 + most * 90_000 / (1 << 20), 0),
            output: matches.get_one("output").cloned(),
            objects,
            events,
            paced: if quick { 1_000 } else { 5_000 },
            changed: match quick {
                true => (1_000, 1_500),
                false => (CHANGED_OBJECTS, CHANGED_EVENTS),
            },
            renewals: 1_000,
            idle: if quick { 1 } else { IDLE_SECONDS },
            exit: if quick { 1_000 } else { EXIT_OBJECTS },
            parked: if quick { 1_000 } else { PARKED_OBJECTS },
        })
    }

    /// Whether the smallest operator of this peer is built.
    pub(super) fn builds(&self, peer: &Peer) -> bool {
        let mut parts = [Part::Build, Part::Rebuild].into_iter();
        parts.any(|part| self.only.contains(&part) && peer.has(part.workload()))
    }

    /// Returns the options of the server besides its objects.
    pub(super) fn server_options(&self, is_secure: bool) -> Vec<&'static str> {
        let options = [
            (self.tls || is_secure, "--tls"),
            (!self.watch_list, "--without-watch-list"),
            (self.limit_is_ignored, "--ignore-limit"),
        ];
        let chosen = options.into_iter().filter(|(is_chosen, _)| *is_chosen);
        chosen.map(|(_, option)| option).collect()
    }

    /// Returns the number of events in caches of a kind.
    pub(super) fn events_of(&self, kind: Kind) -> u64 {
        self.events.min(self.most(kind).1)
    }

    /// Returns the largest number of objects and of events in caches of a kind.
    fn most(&self, kind: Kind) -> (u64, u64) {
        match kind {
            // The server holds 1 MB for each of them, and peers up to 2 MB.
            Kind::LargeSecret if self.quick => (20, 40),
            Kind::LargeSecret => (500, 10_000),
            _ => (u64::MAX, u64::MAX),
        }
    }

    /// Returns lines for the report about the kinds that have fewer objects than the others.
    pub(super) fn caps(&self) -> String {
        let mut text = String::new();
        for kind in self.shapes.iter().copied() {
            let (objects, events) = self.most(kind);
            if objects < u64::MAX {
                let _ = writeln!(
                    text,
                    "* At most {objects} {} and {events} modifications of them, because of their memory",
                    kind.plural()
                );
            }
        }
        text
    }

    /// Returns the trials in their order: those of each kind and object count, then those with their own object count.
    pub(super) fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        let modified = self.only.contains(&Part::Modified);
        let fewest = self.objects.iter().min().copied().unwrap_or(1);
        for objects in self.objects.iter().copied() {
            for kind in self.shapes.iter().copied() {
                let objects = objects.min(self.most(kind).0);
                let events = self.events_of(kind);
                let of_kind = |workload, events, percent| Trial {
                    workload,
                    kind: Some(kind),
                    objects,
                    events,
                    percent,
                };
                trials.push(of_kind(
                    Workload::Cache,
                    if modified { events } else { 0 },
                    0,
                ));
                // A smoke run only shows quickly that the workload works.
                let percents: &[u64] = if self.quick { &[10] } else { &[0, 10, 100] };
                for percent in percents.iter().copied() {
                    trials.push(of_kind(Workload::Relist, 0, percent));
                }
                trials.push(of_kind(Workload::Churn, events, 0));
            }
            for workload in [
                Workload::Kinds,
                Workload::Reads,
                Workload::Reconcile,
                Workload::Apply,
                Workload::Owned,
            ] {
                trials.push(Trial::new(workload, objects, 0));
            }
        }
        trials.push(Trial::new(Workload::Latency, PACED_OBJECTS, self.paced));
        for kind in self.shapes.iter().copied() {
            // Large objects cannot be sent at that rate.
            if kind != Kind::LargeSecret {
                let (objects, events) = self.changed;
                trials.push(Trial {
                    kind: Some(kind),
                    ..Trial::new(Workload::Paced, objects, events)
                });
            }
            let objects = fewest.min(self.most(kind).0);
            trials.push(Trial {
                kind: Some(kind),
                ..Trial::new(Workload::Allocations, objects, self.events_of(kind))
            });
        }
        trials.push(Trial::new(Workload::Idle, 1, self.idle));
        trials.push(Trial::new(Workload::Exit, self.exit, 0));
        trials.push(Trial::new(Workload::Parked, self.parked, 0));
        let renewals = self.renewals;
        trials.push(Trial::new(Workload::Watches, WATCHED_OBJECTS, renewals));
        trials.push(Trial::new(Workload::Build, 0, 0));
        trials.push(Trial::new(Workload::Rebuild, 0, 0));
        trials.retain(|trial| {
            let mut parts = self.only.iter();
            parts.any(|part| part.workload() == trial.workload)
        });
        if self.quick {
            // Each shape fills a cache. For the other workloads of caches the first one is enough.
            let others = [
                Workload::Relist,
                Workload::Churn,
                Workload::Paced,
                Workload::Allocations,
            ];
            let first = self.shapes.first().copied();
            trials.retain(|trial| trial.kind == first || !others.contains(&trial.workload));
        }
        // A kind with a cap has the same trial for several object counts.
        let mut before: Vec<Trial> = Vec::new();
        trials.retain(|trial| {
            let is_new = !before.contains(trial);
            before.push(*trial);
            is_new
        });
        trials
    }
}

/// Returns the peers that are not left out.
pub(super) fn peers(
    without: &[String],
    quick: bool,
    watch_list: bool,
) -> Result<Vec<Peer>, String> {
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
        .filter(|peer| watch_list || !peer.needs_watch_list())
        .filter(|peer| !without.iter().any(|name| is(peer, name)))
        .collect();
    if left.is_empty() {
        Err("--without: no peer is left".to_owned())
    } else {
        Ok(left)
    }
}
