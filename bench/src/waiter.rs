//! Measures how soon a thread that only waits for an event receives it.
//!
//! One thread reads one cleartext connection. Between the write of the server and the read of this thread, only
//! the operating system works, so no peer on this machine can receive an event earlier.

use std::{
    error::Error,
    io::{Read, Write},
    net::TcpStream,
};

use clap::{Arg, ArgMatches, value_parser};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::{reader, server::now};

/// The bytes before a stamp.
const MARK: &[u8] = b"\"bench/stamp\":\"";

/// The age of the stamps, in microseconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Waiting {
    /// The number of stamps.
    pub stamps: u64,
    /// The median age.
    pub p50: f64,
    /// The 99th percentile of the age.
    pub p99: f64,
}

/// Returns the arguments of `wait`.
pub fn arguments() -> Vec<Arg> {
    vec![
        reader::address(),
        reader::path(),
        Arg::new("events")
            .required(true)
            .value_parser(value_parser!(u64))
            .help("number of stamped events to wait for"),
    ]
}

/// Waits and prints the ages.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let text = |name| matches.get_one::<String>(name).map_or("", String::as_str);
    let events = matches.get_one("events").copied().unwrap_or(0);
    let (address, path) = (text("address"), text("path"));
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(reader::LIMIT))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n\r\n"
    )?;
    let waiting = wait(&mut stream, events).map_err(|error| format!("{path}: {error}"))?;
    println!("{}", serde_json::to_string(&waiting)?);
    Ok(())
}

/// Reads until this many stamps have arrived.
fn wait(input: &mut impl Read, wanted: u64) -> Result<Waiting, Box<dyn Error>> {
    let (mut buffer, mut end) = (vec![0; 1 << 18], 0);
    let mut waits = Vec::new();
    while (waits.len() as u64) < wanted {
        let count = input.read(&mut buffer[end..])?;
        let now = now();
        if count == 0 {
            return Err(format!("the answer ended after {} stamps", waits.len()).into());
        }
        end += count;
        let mut done = 0;
        for place in memmem::find_iter(&buffer[..end], MARK) {
            let begin = place + MARK.len();
            if let Some(length) = memchr::memchr(b'"', &buffer[begin..end]) {
                let stamp: u64 = std::str::from_utf8(&buffer[begin..begin + length])?.parse()?;
                waits.push(now.saturating_sub(stamp));
                done = begin + length;
            }
        }
        // The rest may be the first part of a stamp.
        let kept = done.max(end.saturating_sub(MARK.len() + 32));
        buffer.copy_within(kept..end, 0);
        end -= kept;
    }
    waits.sort_unstable();
    let share = |share: f64| {
        let place = (waits.len() as f64 * share).ceil() as usize;
        waits
            .get(place.saturating_sub(1))
            .map_or(0.0, |wait| *wait as f64 / 1e3)
    };
    Ok(Waiting {
        stamps: waits.len() as u64,
        p50: share(0.5),
        p99: share(0.99),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::wait;
    use crate::server::now;

    /// Returns this many bytes per read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn each_stamp_counts_once_wherever_the_pieces_are_cut() {
        // The stamps are a second and ten seconds old.
        let event = |ago: u64| {
            let stamp = now() - ago * 1_000_000_000;
            format!(
                "{{\"bench/stamp\":\"{stamp}\",\"other\":\"{}\"}}\n",
                "x".repeat(60)
            )
        };
        let text = [event(1), event(1), event(10)].concat();
        for piece in [1, 7, 50, 100, text.len()] {
            let waiting = wait(&mut Slow(text.as_bytes(), piece), 3).expect("three stamps");
            assert_eq!(waiting.stamps, 3, "{piece}");
            assert_eq!((waiting.p50 / 1e6).round(), 1.0, "{piece}");
            assert_eq!((waiting.p99 / 1e6).round(), 10.0, "{piece}");
        }
        assert!(wait(&mut Slow(text.as_bytes(), 10), 4).is_err());
    }
}
