//! What the server could give to a peer that did nothing with it.
//!
//! One connection in cleartext, read into one buffer. Lines are counted in a watch, nothing else is looked at. If this
//! is many times faster than every peer, the server holds none of them back.

use std::{
    error::Error,
    io::{Read, Write},
    net::TcpStream,
    time::Instant,
};

use clap::{Arg, ArgMatches, value_parser};
use serde::{Deserialize, Serialize};

/// What was read, and how long it took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Reading {
    /// Bytes, with what HTTP adds.
    pub bytes: u64,
    /// Events of a watch.
    pub events: u64,
    /// From the request to the last byte.
    pub seconds: f64,
}

/// What `read` takes.
pub fn arguments() -> Vec<Arg> {
    vec![
        Arg::new("address")
            .required(true)
            .help("of the server: host and port"),
        Arg::new("path")
            .required(true)
            .help("what to get, with its query"),
        Arg::new("events")
            .long("events")
            .value_parser(value_parser!(u64))
            .help("how many events a watch has; a list ends itself"),
    ]
}

/// Reads and prints how fast.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let text = |name| matches.get_one::<String>(name).map_or("", String::as_str);
    let read = read(
        text("address"),
        text("path"),
        matches.get_one("events").copied(),
    )?;
    println!("{}", serde_json::to_string(&read)?);
    Ok(())
}

/// Reads until the answer ends, or until it had so many events.
pub fn read(address: &str, path: &str, events: Option<u64>) -> Result<Reading, Box<dyn Error>> {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut buffer = vec![0; 1 << 18];
    let mut done = Reading {
        bytes: 0,
        events: 0,
        seconds: 0.0,
    };
    loop {
        let count = stream.read(&mut buffer)?;
        done.bytes += count as u64;
        if let Some(wanted) = events {
            done.events += ends(&buffer[..count]);
            if done.events >= wanted {
                break;
            }
        }
        if count == 0 {
            break;
        }
    }
    if events.is_some_and(|wanted| done.events < wanted) {
        return Err(format!("{path}: {} events and then the end", done.events).into());
    }
    done.seconds = start.elapsed().as_secs_f64();
    Ok(done)
}

/// How many events end here. Those of the transfer's chunks and of the headers end in `\r\n`.
fn ends(bytes: &[u8]) -> u64 {
    bytes
        .windows(2)
        .filter(|pair| pair[0] == b'}' && pair[1] == b'\n')
        .count() as u64
}
