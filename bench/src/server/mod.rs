//! An API server that has nothing to do but to write bytes.
//!
//! Objects are made and written as JSON before it says that it is ready. A page of a list is a slice of what is there; an
//! event is a copy with another resource version in the place of the first. What it answers:
//!
//! * lists with `limit` and `continue`, and all at once for `resourceVersion=0`;
//! * watches that begin at a resource version, and those that begin with `sendInitialEvents`;
//! * `MODIFIED` events as many as it is told to, to every watch, as fast as that watch takes them: the body is asked for
//!   more only when the connection has room. Object follows object with a large stride, so that neighbours in memory
//!   are not neighbours in time, and each event has a new resource version. Nothing else in the object changes;
//! * `DELETED` and then `ADDED` events of the same objects in place of these, if it is told to;
//! * modifications at a pace, each event with the annotation `bench/stamp`: the monotonic clock's nanoseconds when it was
//!   written into the answer;
//! * server-side apply of any ConfigMap: with what was sent and a UID, a resource version and managed fields in it. It is
//!   not kept, and no watch tells of it;
//! * the same of any Secret, which is kept: lists have it and watches tell of it, unless it was there just so;
//! * updates of any Lease: with what was sent and a resource version in it, in JSON; it is not kept either;
//! * all of this in protobuf for who accepts it, of kinds of which it was given the messages;
//! * discovery of what there is.
//!
//! On `relist` some objects get another resource version and every watch ends with the error 410, as do those that would begin
//! before it. When a client has listed again, its watch sends one stamped event: then it has got all.
//!
//! It looks at no selector, no field and no namespace, compresses nothing, and ends no watch but for a relist.
//!
//! It is a process of its own, `pilothouse-bench serve`. It prints `ready <address>` and then takes commands on its
//! standard input: `modify <count>`, `churn <count>`, `pace <rate> <count>`, `relist <percent>` and `reset`, which are answered with `ok`, and
//! `counts`, which is answered with `ok` and what was counted since the last reset. It ends with its input.

mod answer;
mod applied;
mod children;
mod counts;
mod discovery;
mod events;
mod form;
mod kind;
mod listener;
mod messages;
mod query;
mod renewed;
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

/// What there is to serve, and what has been asked for.
pub struct Served {
    /// As they were made.
    first: [Arc<Stock>; 3],
    /// As they are.
    present: RwLock<[Arc<Stock>; 3]>,
    /// What each watch is to send.
    target: watch::Sender<Target>,
    children: Children,
    counts: Counts,
}

impl Served {
    /// Makes the objects.
    pub fn new(seed: u64, pods: u64, config_maps: u64, widgets: u64) -> Self {
        let generator = Generator::new(seed);
        let first = [
            (Kind::Pod, pods),
            (Kind::ConfigMap, config_maps),
            (Kind::Widget, widgets),
        ];
        let first = first.map(|(kind, count)| Arc::new(Stock::new(&generator, kind, count)));
        Self {
            present: RwLock::new(first.clone()),
            first,
            target: watch::Sender::new(Target::default()),
            children: Children::default(),
            counts: Counts::default(),
        }
    }

    /// Has the objects of a kind in protobuf as well, out of what the peers' `dump` has written of the same objects.
    pub fn add_protobuf(&mut self, kind: Kind, file: &[u8]) -> Result<(), String> {
        for stock in &mut self.first {
            if stock.kind() == kind {
                *stock = Arc::new(stock.with_protobuf(file)?);
            }
        }
        self.reset();
        Ok(())
    }

    /// Has every watch send events until it has sent so many; 0 begins anew.
    pub fn modify(&self, events: u64) {
        self.tell(events, false, false);
    }

    /// The same, but of two events the first deletes an object and the second creates it again.
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

    /// Has every watch send so many events, each with the time at which it is written, at a rate per second. What
    /// comes too late is sent at once.
    fn pace(self: &Arc<Self>, rate: u64, events: u64) {
        let command = self.tell(0, true, false);
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

    /// Changes so many percent of all objects and ends all watches: everyone has to list again. Then one stamped event
    /// comes, of an object that has changed if there is one. To be asked of objects that were not modified.
    fn relist(&self, percent: u64) {
        let changed = self
            .stocks()
            .clone()
            .map(|stock| Arc::new(stock.changed(percent)));
        let epoch = changed[0].epoch();
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

    /// Begins anew.
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

    /// Has something else sent. The number of this command.
    fn command(&self, change: impl FnOnce(&mut Target)) -> u64 {
        let mut command = 0;
        self.target.send_modify(|target| {
            change(target);
            target.command += 1;
            command = target.command;
        });
        command
    }

    fn stocks(&self) -> RwLockReadGuard<'_, [Arc<Stock>; 3]> {
        self.present.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a path lists.
    fn stock(&self, path: &str) -> Option<Arc<Stock>> {
        let stocks = self.stocks();
        stocks
            .iter()
            .find(|stock| stock.kind().path() == path)
            .cloned()
    }

    /// Nothing that is listed is newer.
    fn last_version(&self) -> u64 {
        let stocks = self.stocks();
        stocks
            .iter()
            .map(|stock| stock.version())
            .max()
            .unwrap_or_default()
    }

    /// Does what a line of the input says. What is to be told besides that it is done.
    fn obey(self: &Arc<Self>, line: &str) -> Result<Option<String>, Box<dyn Error>> {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["modify", events] => self.modify(events.parse()?),
            ["churn", events] => self.churn(events.parse()?),
            ["pace", rate, events] => self.pace(rate.parse()?, events.parse()?),
            ["relist", percent] => self.relist(percent.parse()?),
            ["reset"] => self.reset(),
            ["counts"] => return Ok(Some(self.counts.json(self.children.count()))),
            _ => {
                return Err(format!(
                    "modify <count>, churn <count>, pace <rate> <count>, relist <percent>, reset or counts, not {line:?}"
                )
                .into());
            }
        }
        Ok(None)
    }
}

/// What `serve` takes.
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
        number("pods", "0", "how many Pods"),
        number("config-maps", "0", "how many ConfigMaps"),
        number("widgets", "0", "how many objects of a custom resource"),
        Arg::new("protobuf")
            .long("protobuf")
            .value_name("KIND=FILE")
            .action(ArgAction::Append)
            .help("the Pods or ConfigMaps of this seed in protobuf, as peers/go/dump writes them, for who wants that"),
        Arg::new("tls")
            .long("tls")
            .action(ArgAction::SetTrue)
            .help("HTTPS with a certificate made for this run; HTTP/2 for who wants it"),
        Arg::new("kubeconfig")
            .long("kubeconfig")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("where to write how to reach it"),
    ]
}

/// Runs the server until its input ends.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let number = |name: &str| matches.get_one(name).copied().unwrap_or(0);
    let mut served = Served::new(
        number("seed"),
        number("pods"),
        number("config-maps"),
        number("widgets"),
    );
    for pair in matches.get_many::<String>("protobuf").into_iter().flatten() {
        let (kind, file) = match pair.split_once('=') {
            Some(("Pod", file)) => (Kind::Pod, file),
            Some(("ConfigMap", file)) => (Kind::ConfigMap, file),
            _ => {
                return Err(
                    format!("--protobuf {pair}: Pod=FILE or ConfigMap=FILE was expected").into(),
                );
            }
        };
        std::fs::read(file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| served.add_protobuf(kind, &bytes))
            .map_err(|error| format!("--protobuf {pair}: {error}"))?;
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
        match served.obey(&line)? {
            None => writeln!(output, "ok")?,
            Some(answer) => writeln!(output, "ok {answer}")?,
        }
        output.flush()?;
    }
    runtime.shutdown_background();
    Ok(())
}
