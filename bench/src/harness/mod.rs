//! Builds the peers, runs them in turn, and writes the table.
//!
//! * In each round every peer runs once, so that what the machine does slowly over an hour meets all of them.
//! * A run during which more than 6 % of the machine went to others does not count and is repeated, up to four
//!   times.
//! * A run in which a peer did not see all that there was is an error.
//! * Memory is taken once before: a virtual machine's host gives it slowly the first time, and whoever needs most
//!   would pay for it.

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
mod tests;
#[cfg(test)]
mod versions_test;

use std::{error::Error, fmt::Write, fs, path::PathBuf, process::Command, time::Instant};

use clap::{Arg, ArgMatches, value_parser};

use crate::reader;
use peer::{Peer, Place};
use run::{Run, Runs};
use server::Server;
use settings::Settings;
pub use settings::arguments;
use table::Row;
use trial::Trial;
use workload::Workload;

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
    let built = bench.programs.iter().map(|(peer, _)| peer);
    let versions = versions::of(built, &Place::new(!settings.quick))?;
    let mut report = report::head(&settings, &versions);
    let (mut touched, mut all) = (0, Vec::new());
    for trial in settings.trials() {
        if !bench
            .programs
            .iter()
            .any(|(peer, _)| peer.can(trial.workload))
        {
            eprintln!("nobody can {}", trial.workload.name());
            continue;
        }
        if touched != trial.objects {
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
    /// Has everyone who can do a trial, in turn and in rounds, against one server.
    fn measure(&self, trial: Trial) -> Result<Measured, Box<dyn Error>> {
        let settings = self.settings;
        let programs = self.programs.iter();
        let programs: Vec<_> = programs
            .filter(|(peer, _)| peer.can(trial.workload))
            .collect();
        let kind = trial.workload.kind();
        let protobuf = if programs.iter().any(|(peer, _)| peer.protobuf) {
            let place = Place::new(!settings.quick);
            Some(protobuf::file(&place, settings.seed, kind, trial.objects)?)
        } else {
            None
        };
        eprintln!("server: {} {}s", trial.objects, kind.name());
        let file = protobuf.as_deref();
        let mut server =
            Server::start(settings.seed, &trial, file, settings.tls, &self.kubeconfig)?;
        let mut raws = String::new();
        if trial.workload == Workload::Cache && !settings.tls {
            raws.push_str(&raw(&mut server, trial.objects, settings.events, false)?);
            if file.is_some() {
                raws.push_str(&raw(&mut server, trial.objects, settings.events, true)?);
            }
        }
        let mut rows: Vec<_> = programs
            .iter()
            .map(|(peer, _)| Row {
                peer: peer.name.to_owned(),
                ours: peer.is_ours(),
                runs: Runs::default(),
            })
            .collect();
        for round in 1..=settings.rounds {
            for ((peer, program), row) in programs.iter().zip(&mut rows) {
                for _ in 0..TRIES {
                    let mut run =
                        trial.run(peer, program, &mut server, &self.kubeconfig, settings.limit)?;
                    self.progress(&trial, round, peer, &run);
                    // What a smoke run takes does not matter, so nothing disturbs it.
                    if settings.quick {
                        run.foreign = 0.0;
                    }
                    if row.runs.take(run) {
                        break;
                    }
                }
            }
        }
        Ok(Measured { rows, raw: raws })
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
            "{:5.0} s  {}, {} objects, round {round} of {}: {:<28} {measures}server {:.2} s CPU, others {:.1} %{}",
            self.start.elapsed().as_secs_f64(),
            trial.workload.name(),
            trial.objects,
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
    let is_needed = |peer: &&Peer| trials.iter().any(|trial| peer.can(trial.workload));
    for peer in settings.peers.iter().filter(is_needed) {
        eprintln!("building {}", peer.name);
        programs.push((*peer, peer.build(&place)?));
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
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["read", server.address(), path]);
        if let Some(events) = events {
            command.args(["--events", &events.to_string()]);
        }
        if protobuf {
            command.arg("--protobuf");
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
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
