//! Measures how fast the server accepts applies from a client that does nothing else.
//!
//! The writer opens as many connections as a controller has workers. On each, a thread writes prepared bytes and reads
//! the answer to its end, over cleartext HTTP/1.1. The remaining cost is that of the system and the server, so no peer
//! on this machine can be faster.

use std::{
    error::Error,
    io::{self, Read, Write},
    net::TcpStream,
    thread,
    time::Instant,
};

use clap::{Arg, ArgMatches, value_parser};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::{cpu, reader};

/// The number of workers of every peer.
const CONNECTIONS: u64 = 16;

/// The measured cost.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Writing {
    /// The number of objects.
    pub applies: u64,
    /// The time from the first request to the last answer.
    pub seconds: f64,
    /// The processor time of this process.
    pub cpu: f64,
}

/// Returns the arguments of `write`.
pub fn arguments() -> Vec<Arg> {
    vec![
        reader::address(),
        Arg::new("applies")
            .required(true)
            .value_parser(value_parser!(u64))
            .help("number of ConfigMaps to apply"),
    ]
}

/// Sends the applies and prints the rate.
pub fn main(matches: &ArgMatches) -> Result<(), Box<dyn Error>> {
    let address = matches
        .get_one::<String>("address")
        .map_or("", String::as_str);
    let applies = matches.get_one("applies").copied().unwrap_or(0);
    println!("{}", serde_json::to_string(&write(address, applies)?)?);
    Ok(())
}

/// Applies this many ConfigMaps.
pub fn write(address: &str, applies: u64) -> Result<Writing, Box<dyn Error>> {
    let requests = (0..CONNECTIONS).map(|number| request(address, number));
    let streams = requests
        .map(|request| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(reader::LIMIT))?;
            Ok((stream, request))
        })
        .collect::<io::Result<Vec<_>>>()?;
    let (start, before) = (Instant::now(), cpu());
    thread::scope(|scope| {
        let threads: Vec<_> = streams
            .into_iter()
            .zip(0..)
            .map(|((mut stream, request), number)| {
                let count = applies / CONNECTIONS + u64::from(number < applies % CONNECTIONS);
                scope.spawn(move || (0..count).try_for_each(|_| apply(&mut stream, &request)))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    })?;
    Ok(Writing {
        applies,
        seconds: start.elapsed().as_secs_f64(),
        cpu: cpu() - before,
    })
}

/// Returns a request as a peer sends it.
fn request(address: &str, number: u64) -> Vec<u8> {
    let name = format!("child-config-{number:05}");
    let body = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": name}, "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "config", "uid": "00000000-0000-4000-8000-000000000000",
            "controller": true, "blockOwnerDeletion": true,
        }]},
    })
    .to_string();
    format!(
        "PATCH /api/v1/namespaces/default/configmaps/{name}?fieldManager=bench&force=true HTTP/1.1\r\nhost: {address}\r\n\
         accept: application/json\r\ncontent-type: application/apply-patch+yaml\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends one request and reads its whole answer.
fn apply(stream: &mut (impl Read + Write), request: &[u8]) -> io::Result<()> {
    stream.write_all(request)?;
    let (mut answer, mut end) = ([0; 8192], 0);
    loop {
        if let Some(wanted) = whole(&answer[..end])? {
            return match end == wanted {
                true => Ok(()),
                false => Err(io::Error::other("the server sent more than one answer")),
            };
        }
        match stream.read(&mut answer[end..])? {
            0 => {
                return Err(io::Error::other(
                    "the server closed, or its answer is too long",
                ));
            }
            count => end += count,
        }
    }
}

/// Returns the length of the answer once its head is complete, and an error unless it is a success.
fn whole(answer: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = memmem::find(answer, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length: Option<usize> = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    match length {
        Some(length) if head.starts_with("http/1.1 2") => {
            let wanted = end + 4 + length;
            Ok((answer.len() >= wanted).then_some(wanted))
        }
        _ => Err(io::Error::other(format!(
            "the answer is not a complete success: {head}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};

    use super::apply;

    /// Accepts all writes, and answers piece by piece.
    struct Answers(Vec<&'static [u8]>);

    impl Read for Answers {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = if self.0.is_empty() {
                &[][..]
            } else {
                self.0.remove(0)
            };
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    impl Write for Answers {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_must_be_a_complete_success() {
        let good = |pieces: &[&'static [u8]]| apply(&mut Answers(pieces.to_vec()), b"").is_ok();
        assert!(good(&[
            b"HTTP/1.1 201 Created\r\nContent-",
            b"Length: 2\r\n\r\n{",
            b"}"
        ]));
        assert!(good(&[b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"]));
        for wrong in [
            &[&b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"[..]][..],
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{"],
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}{"],
            &[b"HTTP/1.1 200 OK\r\n\r\n"],
        ] {
            assert!(!good(wrong), "{wrong:?}");
        }
    }
}
