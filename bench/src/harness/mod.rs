//! Builds the peers, runs them in turn, and writes the table.
//!
//! * In each round every peer runs once, so that slow changes of the machine over an hour affect all peers alike.
//! * A run during which other processes or the host took more than 6 % of the machine does not count. It is repeated up to
//!   four times.
//! * A run in which a peer missed an object or an event is an error.
//! * The harness touches memory once before: the host of a virtual machine provides memory slowly the first time, and
//!   the peer that needs most would pay for it.

mod build;
mod machine;
mod part;
mod peer;
mod plot;
mod protobuf;
mod rebuild;
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
mod rebuild_test;
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
use peer::{Folders, Peer};
use run::{Run, Runs};
use server::Server;
use settings::Settings;
pub use settings::arguments;
use table::Row;
use trial::Trial;
use versions::Lock;
use workload::{PACE, Workload};

/// How often a peer runs at most in one round, until a run is undisturbed.
const TRIES: usize = 5;

/// Returns the arguments of `touch`.
pub fn touch_arguments() -> Vec<Arg> {
    vec![
        Arg::new("MiB")
            .required(true)
            .value_parser(value_parser!(usize))
            .help("how much memory"),
    ]
}

/// Writes to this much memory, and ends.
pub fn touch(matches: &ArgMatches) {
    let mut memory = vec![0_u8; matches.get_one::<usize>("MiB").copied().unwrap_or(0) << 20];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

/// Builds the peers, runs all trials, and prints the report.
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
        if !settings.peers.iter().any(|peer| peer.supports(&trial)) {
            eprintln!("no peer supports {}", trial.name());
            continue;
        }
        if trial.kind.is_some() && touched != trial.objects {
            touched = trial.objects;
            touch_separately(settings.touch)?;
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

/// What all trials share.
struct Bench<'a> {
    settings: &'a Settings,
    programs: Vec<(Peer, PathBuf)>,
    kubeconfig: PathBuf,
    start: Instant,
}

/// The results of a trial.
struct Measured {
    /// A row for each peer that supports the workload.
    rows: Vec<Row>,
    /// The text about the server alone.
    raw: String,
}

impl Bench<'_> {
    /// Returns the lock files of the programs that have been built and of those that will be built.
    fn locks(&self) -> Vec<Lock> {
        let folders = Folders::new(!self.settings.quick);
        let built = self
            .programs
            .iter()
            .map(|(peer, _)| Lock::new(peer, &folders));
        let peers = self.settings.peers.iter();
        let smallest = peers
            .filter(|peer| self.settings.builds(peer))
            .map(|peer| Lock::of_smallest(peer, &folders));
        built.chain(smallest).collect()
    }

    /// Runs a trial with all peers that support it, in rounds.
    fn measure(&self, trial: Trial) -> Result<Measured, Box<dyn Error>> {
        match trial.kind {
            Some(kind) => self.measure_served(trial, kind),
            None => self.measure_builds(trial),
        }
    }

    /// Runs a trial against one server.
    fn measure_served(&self, trial: Trial, kind: Kind) -> Result<Measured, Box<dyn Error>> {
        let settings = self.settings;
        let programs = self.programs.iter();
        let programs: Vec<_> = programs
            .filter(|(peer, _)| peer.supports(&trial))
            .map(|(peer, program)| (peer, program.as_path()))
            .collect();
        let objects = trial.stock();
        let mut protobuf = Vec::new();
        if settings.go && programs.iter().any(|(peer, _)| peer.protobuf) {
            let folders = Folders::new(!settings.quick);
            for (kind, count) in objects.iter().filter(|(kind, _)| kind.is_built_in()) {
                let file = protobuf::file(&folders, settings.seed, *kind, *count)?;
                protobuf.push((*kind, file));
            }
        }
        eprintln!("server for {}", trial.name());
        let mut server = Server::start(
            settings.seed,
            &objects,
            &protobuf,
            &settings.server_options(trial.workload.is_secure()),
            &self.kubeconfig,
        )?;
        let mut raws = String::new();
        if trial.workload == Workload::Cache && kind == Kind::Pod {
            raws.push_str(&types(trial.objects, settings.seed)?);
        }
        if trial.workload == Workload::Cache && !settings.tls {
            raws.push_str(&raw(&mut server, kind, &trial, settings, false)?);
            if !protobuf.is_empty() {
                raws.push_str(&raw(&mut server, kind, &trial, settings, true)?);
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

    /// Builds the smallest operators, whose sources have been downloaded before.
    fn measure_builds(&self, trial: Trial) -> Result<Measured, Box<dyn Error>> {
        let folders = Folders::new(!self.settings.quick);
        let peers = self.settings.peers.iter();
        let peers: Vec<_> = peers
            .filter(|peer| peer.has(trial.workload))
            .map(|peer| (peer, ()))
            .collect();
        let rows = self.rounds(&trial, &peers, |peer, ()| {
            let run = match trial.workload {
                Workload::Rebuild => rebuild::run(peer, &folders)?,
                _ => build::run(peer, &folders)?,
            };
            trial.check(peer.name, &run)?;
            Ok(run)
        })?;
        let raw = String::new();
        Ok(Measured { rows, raw })
    }

    /// Runs each peer once in a round, and again if the run was disturbed.
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
                    // The times of a smoke run do not matter, so nothing disturbs it.
                    if self.settings.quick {
                        run.foreign = 0.0;
                    }
                    if row.runs.add(run) {
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
    let folders = Folders::new(!settings.quick);
    let mut programs = Vec::new();
    let trials = settings.trials();
    let is_needed = |peer: &&Peer| {
        let mut run = trials.iter().filter(|trial| trial.kind.is_some());
        run.any(|trial| peer.supports(trial))
    };
    for peer in settings.peers.iter().filter(is_needed) {
        eprintln!("building {}", peer.name);
        programs.push((*peer, peer.build(&folders)?));
    }
    for peer in settings.peers.iter().filter(|peer| settings.builds(peer)) {
        eprintln!("fetching what the smallest operator on {} needs", peer.name);
        build::fetch(peer, &folders)?;
    }
    Ok(programs)
}

/// Touches memory in another process, which returns it when it ends.
fn touch_separately(mebibytes: u64) -> Result<(), Box<dyn Error>> {
    if mebibytes > 0 {
        eprintln!("touching {mebibytes} MiB");
        let status = Command::new(std::env::current_exe()?)
            .args(["touch", &mebibytes.to_string()])
            .status()?;
        if !status.success() {
            return Err(format!(
                "{mebibytes} MiB of memory could not be allocated ({status}); choose less with --touch"
            )
            .into());
        }
    }
    Ok(())
}

/// Measures the server alone with a reader in a separate process that discards all bytes.
fn raw(
    server: &mut Server,
    kind: Kind,
    trial: &Trial,
    settings: &Settings,
    protobuf: bool,
) -> Result<String, Box<dyn Error>> {
    let (objects, events) = (trial.objects, settings.events_of(kind));
    let read = |path: &str, events: Option<u64>| -> Result<reader::Reading, Box<dyn Error>> {
        let mut arguments = vec!["read", server.address(), path];
        let events = events.map(|events| events.to_string());
        arguments.extend(events.iter().flat_map(|events| ["--events", events]));
        arguments.extend(protobuf.then_some("--protobuf"));
        run_separately(&arguments)
    };
    let list = read(&format!("{}?resourceVersion=0", kind.path()), None)?;
    let streamed = if settings.watch_list {
        let path = format!("{}?watch=true&sendInitialEvents=true", kind.path());
        // One more event for the bookmark.
        Some(read(&path, Some(objects + 1))?)
    } else {
        None
    };
    server.modify(events)?;
    let first = crate::generator::FIRST_VERSION + objects;
    let read = {
        let path = format!("{}?watch=true&resourceVersion={first}", kind.path());
        reader::read(server.address(), &path, Some(events), protobuf)?
    };
    server.reset()?;
    Ok(report::raw(
        kind,
        objects,
        protobuf,
        &list,
        streamed.as_ref(),
        &read,
    ))
}

/// Measures in a separate process the time that decoding into the types takes.
fn types(objects: u64, seed: u64) -> Result<String, Box<dyn Error>> {
    let keeping =
        run_separately::<keeper::Keeping>(&["keep", &objects.to_string(), &seed.to_string()])?;
    Ok(report::types(&keeping))
}

/// Measures the server alone with a writer in a separate process. The first run only warms the server up, as for every peer.
fn raw_applies(server: &mut Server, objects: u64) -> Result<String, Box<dyn Error>> {
    let count = objects.to_string();
    let arguments = ["write", server.address(), &count];
    run_separately::<writer::Writing>(&arguments)?;
    let writing = run_separately(&arguments)?;
    server.reset()?;
    Ok(report::raw_applies(&writing))
}

/// Measures the latency of events for a separate process that only waits for them.
fn raw_events(server: &mut Server, trial: Trial) -> Result<String, Box<dyn Error>> {
    let first = crate::generator::FIRST_VERSION + trial.objects;
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={first}");
    let waiter = Command::new(std::env::current_exe()?)
        .args(["wait", server.address(), &path, &trial.events.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    // Wait until it watches: an event that is already there would be too old.
    thread::sleep(Duration::from_secs(1));
    server.pace(PACE, trial.events)?;
    let waiting: waiter::Waiting = parse_output(&waiter.wait_with_output()?)?;
    server.reset()?;
    Ok(report::raw_events(&waiting))
}

/// Runs this program as another process and returns its result.
fn run_separately<T: DeserializeOwned>(arguments: &[&str]) -> Result<T, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    parse_output(&Command::new(program).args(arguments).output()?)
}

fn parse_output<T: DeserializeOwned>(output: &Output) -> Result<T, Box<dyn Error>> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
