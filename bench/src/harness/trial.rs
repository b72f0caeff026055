//! One run of one peer.

use std::{
    error::Error,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    machine::{self, Moment},
    peer::Peer,
    run::{Results, Run},
    server::Server,
    workload::{CHANGES, IDLE_CACHES, PACE, READ_WATCHES, WATCHED_PACE, Workload},
};
use crate::generator::Kind;

/// The task of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Trial {
    pub(super) workload: Workload,
    /// The kind of the objects, or `None` if the workload needs no server.
    pub(super) kind: Option<Kind>,
    pub(super) objects: u64,
    /// The number of events; 0 ends the run after the sync.
    pub(super) events: u64,
    /// The percentage of the objects that change before the relist.
    pub(super) percent: u64,
}

impl Trial {
    /// Returns a task with the workload's own kind of objects.
    pub(super) fn new(workload: Workload, objects: u64, events: u64) -> Self {
        Self {
            workload,
            kind: workload.kind(),
            objects,
            events,
            percent: 0,
        }
    }

    /// Runs a peer against the server. Returns an error if the peer missed anything.
    pub(super) fn run(
        self,
        peer: &Peer,
        program: &Path,
        server: &mut Server,
        kubeconfig: &Path,
        limit: Duration,
    ) -> Result<Run, Box<dyn Error>> {
        server.reset()?;
        let before = Moment::now(Some(server.id()))?;
        let mut child = Command::new(program)
            .env("KUBECONFIG", kubeconfig)
            .env("BENCH_WORKLOAD", self.workload.name())
            .env("BENCH_SHAPE", self.kind.map_or("", Kind::shape))
            .env("BENCH_OBJECTS", self.objects.to_string())
            .env("BENCH_EVENTS", self.events.to_string())
            .envs(peer.environment.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let output = child.stdout.take().ok_or("a peer has no output")?;
        let id = Pid::from_child(&child);
        let child = Guard::new(child, limit);
        let (mut results, mut synced, mut last) = (None, 0, Instant::now());
        for line in BufReader::new(output).lines() {
            let line = line?;
            if line == "synced" {
                synced += 1;
                match self.workload {
                    Workload::Cache | Workload::Allocations => server.modify(self.events)?,
                    Workload::Churn => server.churn(self.events)?,
                    Workload::Paced => server.modify_at(CHANGES, self.events)?,
                    Workload::Parked => server.modify(synced * self.objects)?,
                    Workload::Latency => server.pace(PACE, self.events)?,
                    // The events continue until the peer ends.
                    Workload::Watches => server.pace(WATCHED_PACE, u64::MAX >> 32)?,
                    Workload::Relist => server.relist(self.percent)?,
                    // It has printed its results, and waits.
                    Workload::Exit => {
                        last = Instant::now();
                        kill_process(id, Signal::TERM)?;
                    }
                    Workload::Kinds
                    | Workload::Idle
                    | Workload::Reads
                    | Workload::Reconcile
                    | Workload::Apply
                    | Workload::Owned
                    | Workload::Build
                    | Workload::Rebuild => {}
                }
            } else {
                last = Instant::now();
                results = Some(
                    serde_json::from_str(&line)
                        .map_err(|error| format!("{} said {line:?}: {error}", peer.name))?,
                );
            }
        }
        child.end(peer.name)?;
        let exit_seconds = last.elapsed().as_secs_f64();
        let after = Moment::now(Some(server.id()))?;
        let results: Results =
            results.ok_or_else(|| format!("{} ended without a result", peer.name))?;
        let run = Run {
            results,
            exit_seconds,
            foreign: after.foreign_since(&before, machine::cores()),
            server_cpu: after.server_since(&before),
            served: server.counts()?,
        };
        self.check(peer.name, &run)?;
        Ok(run)
    }

    /// Returns the kinds of the server's objects with the number of each.
    pub(super) fn stock(&self) -> Vec<(Kind, u64)> {
        match (self.workload, self.kind) {
            (Workload::Kinds, _) => {
                let each = self.objects.div_ceil(Workload::KINDS.len() as u64);
                Workload::KINDS.map(|kind| (kind, each)).to_vec()
            }
            (_, Some(kind)) => vec![(kind, self.objects)],
            (_, None) => Vec::new(),
        }
    }

    /// Its name in the progress output.
    pub(super) fn name(&self) -> String {
        match self.kind {
            Some(_) if self.workload == Workload::Kinds => {
                format!("{}, {} objects", self.workload.name(), self.objects)
            }
            Some(kind) => format!(
                "{}, {} {}",
                self.workload.name(),
                self.objects,
                kind.plural()
            ),
            None => self.workload.name().to_owned(),
        }
    }

    /// Checks that a peer saw everything and measured what its workload is for.
    pub(super) fn check(&self, peer: &str, run: &Run) -> Result<(), String> {
        let results = &run.results;
        let count = |what: &str, found: u64, wanted: u64| {
            if found == wanted {
                Ok(())
            } else {
                Err(format!("{peer}: {what}: {found}, expected {wanted}"))
            }
        };
        let measured = |values: &[(&str, f64)]| {
            let missing = values.iter().find(|(_, value)| *value <= 0.0);
            missing.map_or(Ok(()), |(name, value)| {
                Err(format!("{peer} did not measure {name}: {value}"))
            })
        };
        match self.workload {
            Workload::Cache | Workload::Churn | Workload::Paced => {
                count("objects in the cache", results.objects, self.objects)?;
                count("received events", results.events, self.events)?;
                measured(&[
                    ("sync_seconds", results.sync_seconds),
                    ("rss_sync", results.rss_sync as f64),
                ])
            }
            Workload::Kinds => {
                let all = self.stock().iter().map(|(_, count)| count).sum();
                count("objects in the caches", results.objects, all)?;
                measured(&[
                    ("sync_seconds", results.sync_seconds),
                    ("rss_sync", results.rss_sync as f64),
                ])
            }
            Workload::Allocations => {
                count("objects in the cache", results.objects, self.objects)?;
                count("received events", results.events, self.events)?;
                measured(&[
                    ("allocations", results.allocations as f64),
                    ("allocated", results.allocated as f64),
                ])
            }
            Workload::Idle => {
                count("caches", results.caches, IDLE_CACHES)?;
                measured(&[
                    ("idle_seconds", results.idle_seconds),
                    ("rss_one", results.rss_one as f64),
                    ("rss_idle", results.rss_idle as f64),
                ])
            }
            Workload::Exit => {
                count(
                    "reconciles, one per object",
                    results.reconciles,
                    self.objects,
                )?;
                measured(&[("the time to its end", run.exit_seconds)])
            }
            Workload::Parked => {
                count("objects in the cache", results.objects, self.objects)?;
                count(
                    "reconciles, three per object",
                    results.reconciles,
                    3 * self.objects,
                )?;
                measured(&[
                    ("idle_bytes", results.idle_bytes as f64),
                    ("parked_bytes", results.parked_bytes as f64),
                ])
            }
            Workload::Watches => {
                count("read watches with events", results.watches, READ_WATCHES)?;
                count("renewals", results.renewals, self.events)?;
                let renewals = run.served.renewals;
                count("renewals at the server", renewals, 2 * self.events)?;
                measured(&[
                    ("alone_p99", results.alone_p99),
                    ("renewal_p50", results.renewal_p50),
                    ("renewal_p99", results.renewal_p99),
                    ("renewal_max", results.renewal_max),
                ])
            }
            Workload::Build => measured(&[
                ("build_seconds", results.build_seconds),
                ("build_cpu", results.build_cpu),
                ("crates", results.crates as f64),
                ("binary", results.binary as f64),
            ]),
            Workload::Rebuild => measured(&[
                ("rebuild_seconds", results.rebuild_seconds),
                ("rebuild_cpu", results.rebuild_cpu),
            ]),
            Workload::Reconcile | Workload::Apply => {
                count(
                    "reconciles, one per object",
                    results.reconciles,
                    self.objects,
                )?;
                let applies = match self.workload {
                    Workload::Apply => self.objects,
                    _ => 0,
                };
                count("applies at the server", run.served.applies, applies)?;
                measured(&[
                    ("reconciled_seconds", results.reconciled_seconds),
                    ("drain_seconds", results.drain_seconds),
                    ("rss_drained", results.rss_drained as f64),
                ])
            }
            Workload::Owned => {
                let (children, reconciles) = (run.served.children, results.reconciles);
                count("children at the server", children, self.objects)?;
                if reconciles < self.objects {
                    return Err(format!(
                        "{peer}: {reconciles} reconciles for {} objects, expected at least one per object",
                        self.objects
                    ));
                }
                measured(&[
                    ("drain_seconds", results.drain_seconds),
                    ("drain_cpu", results.drain_cpu),
                    ("rss_drained", results.rss_drained as f64),
                ])
            }
            Workload::Latency => {
                // One reconcile may cover two changes of an object if it waits for a second.
                if results.stamps > self.events || results.stamps < self.events * 99 / 100 {
                    return Err(format!(
                        "{peer}: reconciled {} of {} events",
                        results.stamps, self.events
                    ));
                }
                measured(&[
                    ("latency_p50", results.latency_p50),
                    ("latency_p99", results.latency_p99),
                    ("latency_max", results.latency_max),
                ])
            }
            Workload::Reads => {
                count("objects that were read", results.gets, self.objects)?;
                measured(&[
                    ("asleep_p50", results.asleep_p50),
                    ("asleep_p99", results.asleep_p99),
                    ("awake_p50", results.awake_p50),
                    ("awake_p99", results.awake_p99),
                ])
            }
            Workload::Relist => {
                count("objects in the cache", results.objects, self.objects)?;
                count(
                    "changed objects in the cache",
                    results.changed,
                    self.changed(),
                )?;
                measured(&[
                    ("rss_sync", results.rss_sync as f64),
                    ("peak_relist", results.peak_relist as f64),
                    ("reads", results.reads as f64),
                    ("read_max", results.read_max),
                    ("idle_p9999", results.idle_p9999),
                ])
            }
        }
    }

    /// Returns how many objects have another resource version after the relist, including the one whose event marks its end.
    fn changed(&self) -> u64 {
        (self.objects * self.percent / 100).max(1)
    }
}

/// A running peer. It is killed when it exceeds the limit or when this is dropped.
pub(super) struct Guard {
    child: Arc<Mutex<Child>>,
    limit: Duration,
    is_late: Arc<AtomicBool>,
}

impl Guard {
    /// Guards a peer. The caller must read its output to the end before it calls `end`.
    pub(super) fn new(child: Child, limit: Duration) -> Self {
        let child = Arc::new(Mutex::new(child));
        let is_late = Arc::new(AtomicBool::new(false));
        let (weak, late) = (Arc::downgrade(&child), is_late.clone());
        thread::spawn(move || {
            let start = Instant::now();
            while start.elapsed() < limit {
                thread::sleep(Duration::from_millis(200));
                if weak.strong_count() == 0 {
                    return;
                }
            }
            if let Some(child) = weak.upgrade() {
                late.store(true, Ordering::Relaxed);
                let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        Self {
            child,
            limit,
            is_late,
        }
    }

    /// Waits for its end. Returns an error unless it exits successfully.
    pub(super) fn end(&self, peer: &str) -> Result<(), Box<dyn Error>> {
        let status = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .wait()?;
        if status.success() {
            Ok(())
        } else if self.is_late.load(Ordering::Relaxed) {
            let seconds = self.limit.as_secs();
            Err(format!(
                "{peer} was not done after {seconds} s: it waits for something that never happens, or it is too slow"
            )
            .into())
        } else {
            Err(format!("{peer}: {status}").into())
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
