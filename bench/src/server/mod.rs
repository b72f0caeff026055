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
//! * Pods and ConfigMaps in protobuf for who accepts it, if it was given the messages;
//! * discovery of what there is.
//!
//! It looks at no selector, no field and no namespace, compresses nothing, and never ends a watch.
//!
//! It is a process of its own, `pilothouse-bench serve`. It prints `ready <address>` and then takes commands on its
//! standard input: `modify <count>` and `reset`, which are answered with `ok`, and `counts`, which is answered with `ok` and
//! what was counted since the last reset. It ends with its input.

mod answer;
mod counts;
mod discovery;
mod events;
mod form;
mod kind;
mod listener;
mod messages;
mod query;
mod stock;

#[cfg(test)]
mod protobuf_test;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    io::{self, BufRead, Write},
    path::PathBuf,
    sync::Arc,
};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use tokio::sync::watch;

use crate::generator::{Generator, Kind};
use counts::Counts;
use form::{Form, Format};
use messages::Messages;
pub use stock::Stock;

/// What there is to serve, and what has been asked for.
pub struct Served {
    pods: Stock,
    config_maps: Stock,
    widgets: Stock,
    /// What is there in protobuf, too.
    messages: Vec<Messages>,
    /// How many events each watch is to have.
    target: watch::Sender<u64>,
    counts: Counts,
}

impl Served {
    /// Makes the objects.
    pub fn new(seed: u64, pods: u64, config_maps: u64, widgets: u64) -> Self {
        let generator = Generator::new(seed);
        Self {
            pods: Stock::new(&generator, Kind::Pod, pods),
            config_maps: Stock::new(&generator, Kind::ConfigMap, config_maps),
            widgets: Stock::new(&generator, Kind::Widget, widgets),
            messages: Vec::new(),
            target: watch::Sender::new(0),
            counts: Counts::default(),
        }
    }

    /// Has every watch send events until it has sent so many; 0 begins anew.
    pub fn modify(&self, events: u64) {
        self.target.send_replace(events);
    }

    /// Begins anew.
    fn reset(&self) {
        self.modify(0);
        self.counts.reset();
    }

    /// Has the objects of a kind in protobuf as well, out of what the peers' `dump` has written of the same objects.
    pub fn add_protobuf(&mut self, kind: Kind, file: &[u8]) -> Result<(), String> {
        let messages = Messages::read(kind, self.stock(kind).len(), file)?;
        self.messages.push(messages);
        Ok(())
    }

    fn stock(&self, kind: Kind) -> &Stock {
        match kind {
            Kind::Pod => &self.pods,
            Kind::ConfigMap => &self.config_maps,
            Kind::Widget => &self.widgets,
        }
    }

    /// What a path lists.
    fn at(&self, path: &str) -> Option<&Stock> {
        [&self.pods, &self.config_maps, &self.widgets]
            .into_iter()
            .find(|stock| stock.kind().path() == path)
    }

    fn messages(&self, kind: Kind) -> Option<&Messages> {
        self.messages
            .iter()
            .find(|messages| messages.kind() == kind)
    }

    /// The objects of a kind in a format; in JSON if they are not there in it.
    fn form(&self, kind: Kind, format: Format) -> &dyn Form {
        match (format, self.messages(kind)) {
            (Format::Protobuf, Some(messages)) => messages,
            _ => self.stock(kind),
        }
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
        number("pods", "10000", "how many Pods"),
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
        match line.split_once(' ') {
            Some(("modify", count)) => served.modify(count.parse()?),
            None if line == "reset" => served.reset(),
            None if line == "counts" => {
                writeln!(output, "ok {}", served.counts.json())?;
                output.flush()?;
                continue;
            }
            _ => return Err(format!("modify <count>, counts or reset, not {line:?}").into()),
        }
        writeln!(output, "ok")?;
        output.flush()?;
    }
    runtime.shutdown_background();
    Ok(())
}
