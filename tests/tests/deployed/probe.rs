//! Probes by HTTP, as a kubelet asks them.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;

/// A probe by HTTP.
#[derive(Clone)]
pub(crate) struct Probe {
    path: String,
    period: Duration,
    timeout: Duration,
    pub(crate) threshold: u64,
    last: Option<Instant>,
    /// How often it has failed since it last succeeded. At first as often as it takes.
    pub(crate) failures: u64,
}

impl Probe {
    pub(crate) fn of(probe: &Value, container: &Value) -> Self {
        let get = &probe["httpGet"];
        assert_eq!(get["scheme"], "HTTP");
        assert_eq!(
            get["port"], container["ports"][0]["name"],
            "the probed port has a number"
        );
        let seconds = |name: &str| Duration::from_secs(probe[name].as_u64().unwrap());
        Self {
            path: get["path"].as_str().unwrap().to_owned(),
            period: seconds("periodSeconds"),
            timeout: seconds("timeoutSeconds"),
            threshold: probe["failureThreshold"].as_u64().unwrap(),
            last: None,
            failures: 0,
        }
    }

    /// Asks, if it is time.
    pub(crate) fn ask(&mut self, address: SocketAddr) {
        if self.last.is_some_and(|last| last.elapsed() < self.period) {
            return;
        }
        self.last = Some(Instant::now());
        let answer = get(address, &self.path, self.timeout);
        self.failures = match answer.is_ok_and(|(code, _)| (200..400).contains(&code)) {
            true => 0,
            false => self.failures + 1,
        };
    }
}

/// The answer to a GET: its code and its body.
pub(crate) fn get(
    address: SocketAddr,
    path: &str,
    timeout: Duration,
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((code.unwrap_or(0), body.to_owned()))
}
