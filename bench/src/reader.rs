//! What the server could give to a peer that did nothing with it.
//!
//! One connection in cleartext, read into one buffer. The ends of lines are counted in a watch, in protobuf the beginnings
//! of envelopes, and nothing else is looked at. If this is many times faster than every peer, the server holds none of
//! them back.

use std::{
    error::Error,
    io::{self, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::cpu;

/// The server never pauses for so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What was read, and how long it took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Reading {
    /// Bytes, with what HTTP adds.
    pub bytes: u64,
    /// Events of a watch.
    pub events: u64,
    /// From the request to the last byte.
    pub seconds: f64,
    /// Processor time of this process.
    pub cpu: f64,
}

/// Where the server is.
pub(crate) fn address() -> Arg {
    Arg::new("address")
        .required(true)
        .help("of the server: host and port")
}

/// What is asked for there.
pub(crate) fn path() -> Arg {
    Arg::new("path")
        .required(true)
        .help("what to get, with its query")
}

/// What `read` takes.
pub fn arguments() -> Vec<Arg> {
    vec![
        address(),
        path(),
        Arg::new("events")
            .long("events")
            .value_parser(value_parser!(u64))
            .help("how many events a watch has; a list ends itself"),
        Arg::new("protobuf")
            .long("protobuf")
            .action(ArgAction::SetTrue)
            .help("in protobuf instead of JSON"),
    ]
}

/// Reads and prints how fast.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let text = |name| matches.get_one::<String>(name).map_or("", String::as_str);
    let read = read(
        text("address"),
        text("path"),
        matches.get_one("events").copied(),
        matches.get_flag("protobuf"),
    )?;
    println!("{}", serde_json::to_string(&read)?);
    Ok(())
}

/// Reads until the answer ends, or until it had so many events.
pub fn read(
    address: &str,
    path: &str,
    events: Option<u64>,
    protobuf: bool,
) -> Result<Reading, Box<dyn Error>> {
    let (start, before) = (Instant::now(), cpu());
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    // A transfer's chunks begin and end with events, so neither mark is ever torn by what is between chunks.
    let (accept, mark) = if protobuf {
        ("application/vnd.kubernetes.protobuf", &b"k8s\0"[..])
    } else {
        ("application/json", &b"}\n"[..])
    };
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: {accept}\r\nconnection: close\r\n\r\n"
    )?;
    let (bytes, found) = take(&mut stream, events, mark)
        .map_err(|error| format!("{path}: not all came, and then nothing more: {error}"))?;
    if events.is_some_and(|wanted| found < wanted) {
        return Err(format!("{path}: {found} events and then the end").into());
    }
    Ok(Reading {
        bytes,
        events: found,
        seconds: start.elapsed().as_secs_f64(),
        cpu: cpu() - before,
    })
}

/// Reads to the end, or until a mark was there as often as is wanted: how many bytes, and how many marks.
fn take(input: &mut impl Read, wanted: Option<u64>, mark: &[u8]) -> io::Result<(u64, u64)> {
    let mut buffer = vec![0; 1 << 18];
    let (mut bytes, mut found) = (0, 0);
    // What was at the end of the last piece may be the first half of a mark.
    let mut kept = 0;
    loop {
        let count = input.read(&mut buffer[kept..])?;
        bytes += count as u64;
        let end = kept + count;
        if let Some(wanted) = wanted {
            found += marks(&buffer[..end], mark);
            if found >= wanted {
                return Ok((bytes, found));
            }
            kept = end.min(mark.len() - 1);
            buffer.copy_within(end - kept..end, 0);
        }
        if count == 0 {
            return Ok((bytes, found));
        }
    }
}

/// How often a mark is there. JSON ends an event with `}` and a new line, which no chunk and no header has; in protobuf
/// each event has an envelope, and no text has a zero.
fn marks(bytes: &[u8], mark: &[u8]) -> u64 {
    memmem::find_iter(bytes, mark).count() as u64
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::take;

    /// Gives a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn events_are_counted_wherever_the_pieces_are_cut_until_there_are_enough() {
        for (mark, text) in [
            (&b"}\n"[..], &b"{}\n{}\r\n{}\n}\n}"[..]),
            (b"k8s\0", b"k8s\0ak8k8s\0bk8s\0ck8s"),
        ] {
            let whole = text.len() as u64;
            for input in [&mut Slow(text) as &mut dyn Read, &mut &*text] {
                assert_eq!(take(&mut &mut *input, Some(4), mark).ok(), Some((whole, 3)));
            }
            let first = text.iter().position(|byte| *byte == mark[mark.len() - 1]);
            let first = first.map(|place| (place as u64 + 1, 1));
            assert_eq!(take(&mut Slow(text), Some(1), mark).ok(), first);
            assert_eq!(take(&mut Slow(text), None, mark).ok(), Some((whole, 0)));
        }
    }
}
