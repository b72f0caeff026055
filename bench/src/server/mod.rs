//! An API server that only writes prepared bytes.
//!
//! It generates the objects and writes them as JSON before it prints that it is ready. A page of a list is a slice of
//! these bytes. An event is a copy of an object in which another resource version overwrites the first. The server
//! answers:
//!
//! * lists with `limit` and `continue`, and all at once for `resourceVersion=0`;
//! * watches that start at a resource version, and watches that start with `sendInitialEvents`;
//! * a given number of `MODIFIED` events on every watch, as fast as that watch reads them: the connection asks the body for
//!   more only when it has room. Object follows object with a large stride, so that neighbours in memory
//!   are not neighbours in time. Each event has a new resource version, and nothing else in the object changes;
//! * the same at a given rate;
//! * on request, `DELETED` and then `ADDED` events of the same objects instead;
//! * modifications at a given rate, each event with the annotation `bench/stamp`: the nanoseconds of the monotonic clock when
//!   the server writes the event into the answer;
//! * server-side apply of any ConfigMap. The answer contains the sent object with a UID, a resource version and managed
//!   fields. The server does not store it, and no watch sends an event;
//! * server-side apply of any Secret. The server stores it: lists contain it, and watches send an event unless the apply
//!   changed nothing;
//! * updates of any Lease in JSON. The answer contains the sent object with a resource version. The server does not store it;
//! * all of this in protobuf for clients that accept it, for kinds whose messages the server got;
//! * discovery of its kinds.
//!
//! On `relist` some objects get another resource version. Every watch ends with the error 410, and so does every
//! watch that starts before the new versions. When a client has listed again, its watch sends one stamped event,
//! which marks the end.
//!
//! On request the server refuses `sendInitialEvents`, as an old one does, or ignores `limit`.
//!
//! The server ignores selectors, fields and namespaces, compresses nothing, and ends no watch except for a relist.
//!
//! It is a separate process, `pilothouse-bench serve`. It prints `ready <address>` and then reads commands from its
//! standard input: `modify <count>`, `modify <count> <rate>`, `churn <count>`, `pace <rate> <count>`, `relist <percent>` and `reset`, which it
//! answers with `ok`, and `counts`, which it answers with `ok` and the counts since the last reset. It ends when its
//! input ends.

mod answer;
mod applied;
mod children;
mod counts;
mod discovery;
mod events;
mod form;
mod kind;
mod leases;
mod listener;
mod messages;
mod query;
mod stock;
mod target;
mod wire;

#[cfg(test)]
mod children_test;
#[cfg(test)]
mod protobuf_test;
#[cfg(test)]
mod received;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    io::{self, BufRead, Write},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    thread,
    time::{Duration, Instant},
};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use tokio::sync::watch;

use crate::generator::{Generator, Kind};
use children::Children;
use counts::Counts;
pub use stock::Stock;
use target::Target;
pub(crate) use target::now;

/// The objects to serve, and the state that commands set.
pub struct Served {
    /// The objects as they were generated.
    first: Vec<Arc<Stock>>,
    /// The present objects.
    present: RwLock<Vec<Arc<Stock>>>,
    /// The events that each watch is to send.
    target: watch::Sender<Target>,
    children: Children,
    counts: Counts,
    lacks: Lacks,
}

/// What this server lacks of a present API server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lacks {
    /// It refuses watches with `sendInitialEvents`, as servers do without the feature gate `WatchList`.
    pub watch_list: bool,
    /// It ignores `limit` and sends each list whole, as some aggregated servers do.
    pub limit: bool,
}

impl Served {
    /// Generates this many objects of each kind. Other kinds are not served.
    pub fn new(seed: u64, objects: &[(Kind, u64)]) -> Self {
        let generator = Generator::new(seed);
        let stock = |(kind, count): &(Kind, u64)| Arc::new(Stock::new(&generator, *kind, *count));
        let first: Vec<_> = objects.iter().map(stock).collect();
        Self {
            present: RwLock::new(first.clone()),
            first,
            target: watch::Sender::new(Target::default()),
            children: Children::default(),
            counts: Counts::default(),
            lacks: Lacks::default(),
        }
    }

    /// Returns a server that lacks something.
    #[must_use]
    pub fn lacking(self, lacks: Lacks) -> Self {
        Self { lacks, ..self }
    }

    /// Adds the protobuf form of the objects of a kind from a file that the peers' `dump` has written for the same objects.
    pub fn add_protobuf(&mut self, kind: Kind, file: &[u8]) -> Result<(), String> {
        for stock in &mut self.first {
            if stock.kind() == kind {
                *stock = Arc::new(stock.with_protobuf(file)?);
            }
        }
        self.reset();
        Ok(())
    }

    /// Makes every watch send events until it has sent this many; 0 resets the count.
    pub fn modify(&self, events: u64) {
        self.tell(events, false, false);
    }

    /// As `modify`, but of each two events the first deletes an object and the second creates it again.
    fn churn(&self, events: u64) {
        self.tell(events, false, true);
    }

    fn tell(&self, events: u64, stamped: bool, churned: bool) -> u64 {
        self.command(|target| {
            *target = Target {
                events,
                stamped,
                churned,
                ..*target
            }
        })
    }

    /// Makes every watch send this many events at a rate per second; if stamped, each has the time at which it is written. A
    /// late event is sent at once.
    fn pace(self: &Arc<Self>, rate: u64, events: u64, stamped: bool) {
        let command = self.tell(0, stamped, false);
        let (served, start) = (self.clone(), Instant::now());
        thread::spawn(move || {
            for event in 1..=events {
                let due = Duration::from_nanos(1_000_000_000 * event / rate.max(1));
                thread::sleep(due.saturating_sub(start.elapsed()));
                let is_wanted = served.target.send_if_modified(|target| {
                    let is_wanted = target.command == command;
                    if is_wanted {
                        target.events = event;
                    }
                    is_wanted
                });
                if !is_wanted {
                    return;
                }
            }
        });
    }

    /// Changes this percentage of all objects and ends all watches, so that every client must list again. Then one stamped
    /// event follows, for a changed object if there is one. Must not be called after objects were modified.
    fn relist(&self, percent: u64) {
        let stocks = self.stocks().clone();
        let changed = stocks.iter().map(|stock| Arc::new(stock.changed(percent)));
        let changed: Vec<_> = changed.collect();
        let epoch = changed.first().map_or(0, |stock| stock.epoch());
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = changed;
        self.command(|target| {
            *target = Target {
                events: 1,
                stamped: true,
                churned: false,
                epoch,
                ..*target
            }
        });
    }

    /// Restores the generated objects and resets the counts.
    fn reset(&self) {
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = self.first.clone();
        self.command(|target| {
            *target = Target {
                command: target.command,
                ..Target::default()
            }
        });
        self.children.reset();
        self.counts.reset();
    }

    /// Changes what watches send, and returns the number of this command.
    fn command(&self, change: impl FnOnce(&mut Target)) -> u64 {
        let mut command = 0;
        self.target.send_modify(|target| {
            change(target);
            target.command += 1;
            command = target.command;
        });
        command
    }

    fn stocks(&self) -> RwLockReadGuard<'_, Vec<Arc<Stock>>> {
        self.present.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the objects that a path lists.
    fn stock(&self, path: &str) -> Option<Arc<Stock>> {
        let stocks = self.stocks();
        stocks
            .iter()
            .find(|stock| stock.kind().path() == path)
            .cloned()
    }

    /// Returns a resource version that is at least as new as every listed object.
    fn last_version(&self) -> u64 {
        let stocks = self.stocks();
        stocks
            .iter()
            .map(|stock| stock.version())
            .max()
            .unwrap_or_default()
    }

    /// Runs the command of an input line. Returns the text of the answer after `ok`.
    fn run_command(self: &Arc<Self>, line: &str) -> Result<Option<String>, Box<dyn Error>> {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["modify", events] => self.modify(events.parse()?),
            ["modify", events, rate] => self.pace(rate.parse()?, events.parse()?, false),
            ["churn", events] => self.churn(events.parse()?),
            ["pace", rate, events] => self.pace(rate.parse()?, events.parse()?, true),
            ["relist", percent] => self.relist(percent.parse()?),
            ["reset"] => self.reset(),
            ["counts"] => return Ok(Some(self.counts.json(self.children.count()))),
            _ => {
                return Err(format!(
                    "modify <count>, modify <count> <rate>, churn <count>, pace <rate> <count>, relist <percent>, reset or counts, not {line:?}"
                )
                .into());
            }
        }
        Ok(None)
    }
}

/// Returns the arguments of `serve`.
pub fn arguments() -> Vec<Arg> {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_parser(value_parser!(u64))
            .default_value(default)
            .help(help)
    };
    vec![
        number("seed", "1", "of the objects"),
        Arg::new("objects")
            .long("objects")
            .value_name("SHAPE=COUNT")
            .action(ArgAction::Append)
            .help("how many objects of this shape, as in pods=1000. Shapes that are not named are not served"),
        Arg::new("protobuf")
            .long("protobuf")
            .value_name("SHAPE=FILE")
            .action(ArgAction::Append)
            .help("the objects of this shape and seed in protobuf, as peers/go/dump writes them, for clients that accept it"),
        Arg::new("without-watch-list")
            .long("without-watch-list")
            .action(ArgAction::SetTrue)
            .help("refuses watches that begin with all objects"),
        Arg::new("ignore-limit")
            .long("ignore-limit")
            .action(ArgAction::SetTrue)
            .help("sends each list whole"),
        Arg::new("tls")
            .long("tls")
            .action(ArgAction::SetTrue)
            .help("HTTPS with a certificate for this run; HTTP/2 for clients that support it"),
        Arg::new("kubeconfig")
            .long("kubeconfig")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("file for the server's kubeconfig"),
    ]
}

/// Generates the objects that the arguments ask for.
pub(crate) fn served(matches: &ArgMatches) -> Result<Served, String> {
    let mut objects = Vec::new();
    for (kind, count) in pairs(matches, "objects")? {
        let count = count
            .parse()
            .map_err(|_| format!("--objects {}={count}: expected a number", kind.shape()))?;
        objects.push((kind, count));
    }
    let seed = matches.get_one("seed").copied().unwrap_or(0);
    let lacks = Lacks {
        watch_list: matches.get_flag("without-watch-list"),
        limit: matches.get_flag("ignore-limit"),
    };
    Ok(Served::new(seed, &objects).lacking(lacks))
}

/// Returns the shapes of an option, each with the text after `=`.
fn pairs(matches: &ArgMatches, option: &str) -> Result<Vec<(Kind, String)>, String> {
    let pairs = matches.get_many::<String>(option).into_iter().flatten();
    let pair = |text: &String| {
        let (shape, value) = text.split_once('=')?;
        Some((Kind::of_shape(shape)?, value.to_owned()))
    };
    pairs
        .map(|text| {
            pair(text).ok_or_else(|| {
                let shapes = Kind::ALL.map(Kind::shape).join(", ");
                format!(
                    "--{option} {text}: expected a shape, `=` and a value; the shapes are {shapes}"
                )
            })
        })
        .collect()
}

/// Runs the server until its input ends.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let mut served = served(matches)?;
    for (kind, file) in pairs(matches, "protobuf")? {
        std::fs::read(&file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| served.add_protobuf(kind, &bytes))
            .map_err(|error| format!("--protobuf {}={file}: {error}", kind.shape()))?;
    }
    let served = Arc::new(served);
    let tls = matches
        .get_flag("tls")
        .then(listener::Tls::new)
        .transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let listener = runtime.block_on(listener::Listener::bind(tls))?;
    if let Some(file) = matches.get_one::<PathBuf>("kubeconfig") {
        std::fs::write(file, listener.kubeconfig())?;
    }
    let mut output = io::stdout().lock();
    writeln!(output, "ready {}", listener.address())?;
    output.flush()?;
    runtime.spawn(listener.run(served.clone()));
    for line in io::stdin().lock().lines() {
        let line = line?;
        match served.run_command(&line)? {
            None => writeln!(output, "ok")?,
            Some(answer) => writeln!(output, "ok {answer}")?,
        }
        output.flush()?;
    }
    runtime.shutdown_background();
    Ok(())
}
