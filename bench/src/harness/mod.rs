//! Builds the peers, runs them in turn, and writes the table.
//!
//! * In each round every peer runs once, so that what the machine does slowly over an hour meets all of them.
//! * A run during which more than 6 % of the machine went to others does not count and is repeated, up to four
//!   times.
//! * A run in which a peer did not see all that there was is an error.
//! * Memory is taken once before: a virtual machine's host gives it slowly the first time, and whoever needs most
//!   would pay for it.

mod build;
mod machine;
mod part;
mod peer;
mod plot;
mod protobuf;
mod report;
mod run;
mod server;
mod settings;
mod slopes;
mod stats;
mod table;
mod trial;
mod versions;
mod workload;

#[cfg(test)]
mod plot_test;
#[cfg(test)]
mod settings_test;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod versions_test;

use std::{
    error::Error,
    fmt::Write,
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::{Arg, ArgMatches, value_parser};
use serde::de::DeserializeOwned;

use crate::{generator::Kind, keeper, reader, waiter, writer};
use peer::{Peer, Place};
use run::{Run, Runs};
use server::Server;
use settings::Settings;
pub use settings::arguments;
use table::Row;
use trial::Trial;
use versions::Lock;
use workload::{PACE, Workload};

/// How often a peer may be disturbed in one round.
const TRIES: usize = 5;

/// What `touch` takes.
pub fn touch_arguments() -> Vec<Arg> {
    vec![
        Arg::new("MiB")
            .required(true)
            .value_parser(value_parser!(usize))
            .help("how much"),
    ]
}

/// Writes to so much memory, and ends.
pub fn touch(matches: &ArgMatches) {
    let mut memory = vec![0_u8; matches.get_one::<usize>("MiB").copied().unwrap_or(0) << 20];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

/// Does it all.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let settings = Settings::new(matches)?;
    let programs = build(&settings)?;
    let folder = tempfile::tempdir()?;
    let bench = Bench {
        settings: &settings,
        programs,
        kubeconfig: folder.path().join("kubeconfig"),
        start: Instant::now(),
    };
    let versions = versions::of(bench.locks())?;
    let mut report = report::head(&settings, &versions);
    let (mut touched, mut all) = (0, Vec::new());
    for trial in settings.trials() {
        if !settings.peers.iter().any(|peer| peer.can(trial.workload)) {
            eprintln!("nobody can {}", trial.workload.name());
            continue;
        }
        if trial.workload.kind().is_some() && touched != trial.objects {
            touched = trial.objects;
            touch_apart(settings.touch)?;
        }
        let measured = bench.measure(trial)?;
        report.push_str(&measured.raw);
        report.push_str(&report::tables(&settings.only, &trial, &measured.rows));
        all.push((trial, measured.rows));
    }
    let peers = report::peers(&settings.peers);
    print!("{report}{peers}");
    if let Some(file) = &settings.output {
        report.push_str(&slopes::write(
            &slopes::pictures(&settings.only, &all),
            file,
        )?);
        report.push_str(&peers);
        fs::write(file, report).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// All that is the same for each trial.
struct Bench<'a> {
    settings: &'a Settings,
    programs: Vec<(Peer, PathBuf)>,
    kubeconfig: PathBuf,
    start: Instant,
}

/// What a trial gave.
struct Measured {
    /// A row for each peer that can do it.
    rows: Vec<Row>,
    /// What is said of the server alone.
    raw: String,
}

impl Bench<'_> {
    /// Of the programs that have been built, and of those that will be.
    fn locks(&self) -> Vec<Lock> {
        let place = Place::new(!self.settings.quick);
        let built = self
            .programs
            .iter()
            .map(|(peer, _)| Lock::new(peer, &place));
        let peers = self.settings.peers.iter();
        let smallest = peers
            .filter(|peer| self.settings.builds(peer))
            .map(|peer| Lock::of_smallest(peer, &place));
        built.chain(smallest).collect()
    }

    /// Has everyone who can do a trial, in turn and in rounds.
    fn measure(&self, trial: Trial) -> Result<Measured, Box<dyn Error>> {
        match trial.workload.kind() {
            Some(kind) => self.measure_served(trial, kind),
            None => self.measure_builds(trial),
        }
    }

    /// Against one server.
    fn measure_served(&self, trial: Trial, kind: Kind) -> Result<Measured, Box<dyn Error>> {
        let settings = self.settings;
        let programs = self.programs.iter();
        let programs: Vec<_> = programs
            .filter(|(peer, _)| peer.can(trial.workload))
            .map(|(peer, program)| (peer, program.as_path()))
            .collect();
        let protobuf = if programs.iter().any(|(peer, _)| peer.protobuf) {
            let place = Place::new(!settings.quick);
            Some(protobuf::file(&place, settings.seed, kind, trial.objects)?)
        } else {
            None
        };
        eprintln!("server: {} {}s", trial.objects, kind.name());
        let file = protobuf.as_deref();
        let mut server = Server::start(
            settings.seed,
            kind,
            trial.objects,
            file,
            settings.tls || trial.workload.is_secure(),
            &self.kubeconfig,
        )?;
        let mut raws = String::new();
        if trial.workload == Workload::Cache {
            raws.push_str(&types(trial.objects, settings.seed)?);
        }
        if trial.workload == Workload::Cache && !settings.tls {
            raws.push_str(&raw(&mut server, trial.objects, settings.events, false)?);
            if file.is_some() {
                raws.push_str(&raw(&mut server, trial.objects, settings.events, true)?);
            }
        }
        if trial.workload == Workload::Apply && !settings.tls {
            raws.push_str(&raw_applies(&mut server, trial.objects)?);
        }
        if trial.workload == Workload::Latency && !settings.tls {
            raws.push_str(&raw_events(&mut server, trial)?);
        }
        let rows = self.rounds(&trial, &programs, |peer, program| {
            trial.run(peer, program, &mut server, &self.kubeconfig, settings.limit)
        })?;
        Ok(Measured { rows, raw: raws })
    }

    /// Of the smallest operators, whose sources are there before.
    fn measure_builds(&self, trial: Trial) -> Result<Measured, Box<dyn Error>> {
        let place = Place::new(!self.settings.quick);
        let peers = self.settings.peers.iter();
        let peers: Vec<_> = peers
            .filter(|peer| self.settings.builds(peer))
            .map(|peer| (peer, ()))
            .collect();
        let rows = self.rounds(&trial, &peers, |peer, ()| {
            let run = build::run(peer, &place)?;
            trial.check(peer.name, &run)?;
            Ok(run)
        })?;
        let raw = String::new();
        Ok(Measured { rows, raw })
    }

    /// Each once in a round, and again when it was disturbed.
    fn rounds<T: Copy>(
        &self,
        trial: &Trial,
        peers: &[(&Peer, T)],
        mut run: impl FnMut(&Peer, T) -> Result<Run, Box<dyn Error>>,
    ) -> Result<Vec<Row>, Box<dyn Error>> {
        let mut rows: Vec<_> = peers
            .iter()
            .map(|(peer, _)| Row {
                peer: peer.name.to_owned(),
                ours: peer.is_ours(),
                runs: Runs::default(),
            })
            .collect();
        for round in 1..=self.settings.rounds {
            for ((peer, with), row) in peers.iter().zip(&mut rows) {
                for _ in 0..TRIES {
                    let mut run = run(peer, *with)?;
                    self.progress(trial, round, peer, &run);
                    // What a smoke run takes does not matter, so nothing disturbs it.
                    if self.settings.quick {
                        run.foreign = 0.0;
                    }
                    if row.runs.take(run) {
                        break;
                    }
                }
            }
        }
        Ok(rows)
    }

    fn progress(&self, trial: &Trial, round: usize, peer: &Peer, run: &Run) {
        let mut measures = String::new();
        for part in &self.settings.only {
            if part.workload() == trial.workload {
                for measure in part.measures().iter().take(2) {
                    let (name, value) = (measure.name, (measure.value)(run));
                    let _ = write!(measures, "{name} {value:.0$}; ", measure.digits);
                }
            }
        }
        eprintln!(
            "{:5.0} s  {}, round {round} of {}: {:<28} {measures}server {:.2} s CPU, others {:.1} %{}",
            self.start.elapsed().as_secs_f64(),
            trial.name(),
            self.settings.rounds,
            peer.name,
            run.server_cpu,
            run.foreign * 100.0,
            if run.is_disturbed() {
                ", disturbed"
            } else {
                ""
            }
        );
    }
}

fn build(settings: &Settings) -> Result<Vec<(Peer, PathBuf)>, Box<dyn Error>> {
    let place = Place::new(!settings.quick);
    let mut programs = Vec::new();
    let trials = settings.trials();
    let is_needed = |peer: &&Peer| {
        let of_peer = |trial: &Trial| peer.can(trial.workload);
        trials
            .iter()
            .any(|trial| trial.workload.kind().is_some() && of_peer(trial))
    };
    for peer in settings.peers.iter().filter(is_needed) {
        eprintln!("building {}", peer.name);
        programs.push((*peer, peer.build(&place)?));
    }
    for peer in settings.peers.iter().filter(|peer| settings.builds(peer)) {
        eprintln!("fetching what the smallest operator on {} needs", peer.name);
        build::fetch(peer, &place)?;
    }
    Ok(programs)
}

/// In another process, which gives it back by ending.
fn touch_apart(mebibytes: u64) -> Result<(), Box<dyn Error>> {
    if mebibytes > 0 {
        eprintln!("touching {mebibytes} MiB");
        let status = Command::new(std::env::current_exe()?)
            .args(["touch", &mebibytes.to_string()])
            .status()?;
        if !status.success() {
            return Err(format!(
                "{mebibytes} MiB of memory could not be taken ({status}); say less with --touch"
            )
            .into());
        }
    }
    Ok(())
}

/// What the server gives to a reader that does nothing with it, from a process apart.
fn raw(
    server: &mut Server,
    objects: u64,
    events: u64,
    protobuf: bool,
) -> Result<String, Box<dyn Error>> {
    let read = |path: &str, events: Option<u64>| -> Result<reader::Reading, Box<dyn Error>> {
        let mut arguments = vec!["read", server.address(), path];
        let events = events.map(|events| events.to_string());
        arguments.extend(events.iter().flat_map(|events| ["--events", events]));
        arguments.extend(protobuf.then_some("--protobuf"));
        apart(&arguments)
    };
    let list = read("/api/v1/pods?resourceVersion=0", None)?;
    // With its bookmark.
    let streamed = read(
        "/api/v1/pods?watch=true&sendInitialEvents=true",
        Some(objects + 1),
    )?;
    server.modify(events)?;
    let first = crate::generator::FIRST_VERSION + objects;
    let read = {
        let path = format!("/api/v1/pods?watch=true&resourceVersion={first}");
        reader::read(server.address(), &path, Some(events), protobuf)?
    };
    server.reset()?;
    Ok(report::raw(objects, protobuf, &list, &streamed, &read))
}

/// What the types take, in a process apart.
fn types(objects: u64, seed: u64) -> Result<String, Box<dyn Error>> {
    let keeping = apart::<keeper::Keeping>(&["keep", &objects.to_string(), &seed.to_string()])?;
    Ok(report::types(&keeping))
}

/// What the server takes from a writer that does nothing else, from a process apart. Once before, as for everyone.
fn raw_applies(server: &mut Server, objects: u64) -> Result<String, Box<dyn Error>> {
    let count = objects.to_string();
    let arguments = ["write", server.address(), &count];
    apart::<writer::Writing>(&arguments)?;
    let writing = apart(&arguments)?;
    server.reset()?;
    Ok(report::raw_applies(&writing))
}

/// How soon an event is there for who does nothing but wait for it, in a process apart.
fn raw_events(server: &mut Server, trial: Trial) -> Result<String, Box<dyn Error>> {
    let first = crate::generator::FIRST_VERSION + trial.objects;
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={first}");
    let waiter = Command::new(std::env::current_exe()?)
        .args(["wait", server.address(), &path, &trial.events.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    // Until it watches: an event that it finds there has waited.
    thread::sleep(Duration::from_secs(1));
    server.pace(PACE, trial.events)?;
    let waiting: waiter::Waiting = said(&waiter.wait_with_output()?)?;
    server.reset()?;
    Ok(report::raw_events(&waiting))
}

/// The result of another process of this program.
fn apart<T: DeserializeOwned>(arguments: &[&str]) -> Result<T, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    said(&Command::new(program).args(arguments).output()?)
}

fn said<T: DeserializeOwned>(output: &Output) -> Result<T, Box<dyn Error>> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
