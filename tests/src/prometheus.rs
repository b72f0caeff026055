//! A real Prometheus and its promtool. `PILOTHOUSE_PROMETHEUS` and `PILOTHOUSE_PROMTOOL` name the programs; without them,
//! those on the `PATH` are used.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

/// A running Prometheus. It is killed when this is dropped.
pub struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts a Prometheus with this configuration, and with its files in `home`. If the program is not installed, this prints
    /// that the test was skipped, bypassing the test harness, which swallows the output of passing tests.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(home: &Path, config: &str) -> Option<Self> {
        let file = home.join("prometheus.yml");
        fs::write(&file, config).expect("a file for the configuration");
        let mut command = Command::new(program("PILOTHOUSE_PROMETHEUS", "prometheus"));
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                home.join("data").display()
            ))
            .arg("--web.listen-address=127.0.0.1:0")
            .arg("--web.enable-lifecycle")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = started(&mut command)?;
        let output = child.stderr.take().expect("its output");
        let mut lines = BufReader::new(output).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, address) = line.split_once("\"Listening on\" address=")?;
            address.trim().parse().ok()
        });
        // A full pipe would block the process.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let address = address.expect("it says where it listens");
        let prometheus = Self { child, address };
        // It listens before it answers queries.
        while !prometheus.send("GET /-/ready").contains(" 200 ") {
            thread::sleep(Duration::from_millis(50));
        }
        Some(prometheus)
    }

    /// The data of its answer to a request for a path of its API, such as `/api/v1/series`.
    ///
    /// # Panics
    /// If it does not answer with success.
    pub fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let parameters = parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
            .collect();
        let answer = self.send(&format!("GET {path}?{}", parameters.join("&")));
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        assert_eq!(body["status"], "success", "{path} {parameters:?}: {answer}");
        body["data"].clone()
    }

    /// Lets it read its files of rules again.
    ///
    /// # Panics
    /// If it refuses them.
    pub fn reload(&self) {
        let answer = self.send("POST /-/reload");
        assert!(answer.contains(" 200 "), "{answer}");
    }

    /// Sends a request without a body, and returns the whole answer.
    fn send(&self, request: &str) -> String {
        let request = format!("{request} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        let mut stream = TcpStream::connect(self.address).expect("a connection to Prometheus");
        let mut answer = String::new();
        let read = stream.write_all(request.as_bytes());
        let read = read.and_then(|()| stream.read_to_string(&mut answer));
        read.expect("an answer of Prometheus");
        answer
    }

    /// The labels and the values of the series that a query returns.
    ///
    /// # Panics
    /// If the query is refused.
    pub fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let data = self.ask("/api/v1/query", &[("query", query)]);
        let series = data["result"].as_array().cloned().unwrap_or_default();
        let pairs = series.into_iter().map(|one| {
            let value = one["value"][1].as_str().and_then(|text| text.parse().ok());
            (one["metric"].clone(), value.expect("a number"))
        });
        pairs.collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs promtool in a folder. `None` if it is not installed, as for [`Prometheus::start`].
///
/// # Panics
/// If it does not start.
pub fn promtool(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(program("PILOTHOUSE_PROMTOOL", "promtool"));
    command.args(arguments).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = started(&mut command)?;
    Some(child.wait_with_output().expect("its output"))
}

fn program(variable: &str, name: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| name.into())
}

fn started(command: &mut Command) -> Option<Child> {
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let program = command.get_program().display();
            let line = format!("skipped: Prometheus: no {program} found\n");
            let _ = io::stderr().write_all(line.as_bytes());
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// Percent-encodes everything but letters and digits, for a URL.
fn escaped(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    escaped.collect()
}
