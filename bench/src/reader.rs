//! Measures how fast the server can send to a client that discards all bytes.
//!
//! The reader reads one cleartext connection into one buffer. In a watch it counts the line ends, in protobuf the starts
//! of envelopes, and looks at nothing else. If it is many times faster than every peer, the server slows no peer
//! down.

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

/// A pause of the server that is longer than this is an error.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The read bytes and events, and the time they took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Reading {
    /// The number of bytes, HTTP included.
    pub bytes: u64,
    /// The number of events of a watch.
    pub events: u64,
    /// The time from the request to the last byte.
    pub seconds: f64,
    /// The processor time of this process.
    pub cpu: f64,
}

/// Returns the argument for the server's address.
pub(crate) fn address() -> Arg {
    Arg::new("address")
        .required(true)
        .help("address of the server: host and port")
}

/// Returns the argument for the path.
pub(crate) fn path() -> Arg {
    Arg::new("path")
        .required(true)
        .help("path to get, with its query")
}

/// Returns the arguments of `read`.
pub fn arguments() -> Vec<Arg> {
    vec![
        address(),
        path(),
        Arg::new("events")
            .long("events")
            .value_parser(value_parser!(u64))
            .help("number of events of a watch; a list ends by itself"),
        Arg::new("protobuf")
            .long("protobuf")
            .action(ArgAction::SetTrue)
            .help("request protobuf instead of JSON"),
    ]
}

/// Reads, and prints the rates.
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

/// Reads until the answer ends, or until it contained this many events.
pub fn read(
    address: &str,
    path: &str,
    events: Option<u64>,
    protobuf: bool,
) -> Result<Reading, Box<dyn Error>> {
    let (start, before) = (Instant::now(), cpu());
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    // Transfer chunks start and end with events, so a chunk header never splits a mark.
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
        .map_err(|error| format!("{path}: the answer stopped before it was complete: {error}"))?;
    if events.is_some_and(|wanted| found < wanted) {
        return Err(format!("{path}: the answer ended after {found} events").into());
    }
    Ok(Reading {
        bytes,
        events: found,
        seconds: start.elapsed().as_secs_f64(),
        cpu: cpu() - before,
    })
}

/// Reads to the end or until the wanted number of marks. Returns the number of bytes and of marks.
fn take(input: &mut impl Read, wanted: Option<u64>, mark: &[u8]) -> io::Result<(u64, u64)> {
    let mut buffer = vec![0; 1 << 18];
    let (mut bytes, mut found) = (0, 0);
    // The end of the last piece may be the first half of a mark.
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

/// Counts a mark. JSON ends an event with `}` and a new line, which no chunk header contains. In protobuf each event has
/// an envelope, and no text contains a zero byte.
fn marks(bytes: &[u8], mark: &[u8]) -> u64 {
    memmem::find_iter(bytes, mark).count() as u64
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::take;

    /// Returns one byte per read.
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
    fn events_are_counted_wherever_the_pieces_are_cut() {
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
