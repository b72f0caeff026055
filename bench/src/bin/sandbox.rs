//! Measures the sandbox beside a real API server: start, creations, events to several watches, and memory.
//!
//! Both run as programs, over HTTPS, with the same client, which shares the processors with them. `PILOTHOUSE_SANDBOX` names the sandbox's
//! program, `PILOTHOUSE_SANDBOX_BEFORE` an older one to compare, `PILOTHOUSE_CLUSTER_BINARY` the one of `tests/cluster`; a row whose variable is not
//! set is left out.

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use pilothouse::client::{Body, Client, Config, KubeconfigOptions};
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const STARTS: u32 = 21;
/// Fewer than the sandbox's history, so that each event can still be watched.
const OBJECTS: u32 = 15_000;
const WRITERS: u32 = 32;
const WATCHES: usize = 10;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::main]
async fn main() -> Result<()> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        let sandbox = Sandbox::builder().simulator(true).rbac(true).build()?;
        let io = hyper_util::rt::TokioIo::new(sandbox.connect());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        let connection = tokio::spawn(connection);
        let ready = Request::get("/readyz").header("host", "sandbox");
        let response = sender
            .send_request(ready.body(Empty::<Bytes>::new())?)
            .await?;
        assert!(response.status().is_success());
        starts.push(began.elapsed());
        connection.abort();
        sandbox.shutdown().await;
    }
    println!(
        "start in a process  {:>8.1} ms",
        milliseconds(median(starts))
    );
    println!(
        "{:<20} {:>9} {:>11} {:>21} {:>14} {:>13} {:>14}",
        "program",
        "start ms",
        "creates/s",
        "events/s to each of 10",
        "CPU µs/create",
        "CPU µs/event",
        "bytes × stored"
    );
    for (name, variable) in [
        ("sandbox before", "PILOTHOUSE_SANDBOX_BEFORE"),
        ("sandbox", "PILOTHOUSE_SANDBOX"),
        ("kube-apiserver, etcd", "PILOTHOUSE_CLUSTER_BINARY"),
    ] {
        if let Some(program) = env::var_os(variable) {
            measure(name, program, variable != "PILOTHOUSE_CLUSTER_BINARY").await?;
        }
    }
    Ok(())
}

async fn measure(name: &str, program: OsString, is_sandbox: bool) -> Result<()> {
    // The first start of a program reads it from the disk.
    drop(Server::start(&program, is_sandbox)?);
    let began = Instant::now();
    let server = Server::start(&program, is_sandbox)?;
    let started = began.elapsed();
    let client = server.client().await?;
    let from = list_version(&client).await?;
    let (resident, busy) = (server.resident(), server.busy());

    let began = Instant::now();
    let next = Arc::new(AtomicU32::new(0));
    let mut writers: JoinSet<Result<()>> = JoinSet::new();
    for _ in 0..WRITERS {
        let (client, next) = (client.clone(), next.clone());
        writers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= OBJECTS {
                    return Ok(());
                }
                let request = Request::post(MAPS).header("content-type", "application/json");
                let response = client.send(request.body(Body::from(map(number)))?).await?;
                assert_eq!(response.status(), 201);
                response.into_body().collect().await?;
            }
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let creates = f64::from(OBJECTS) / began.elapsed().as_secs_f64();
    let busy = (server.busy() - busy).as_secs_f64() * 1e6 / f64::from(OBJECTS);
    let grown = server.resident().saturating_sub(resident);

    let before = server.busy();
    let mut watches: JoinSet<Result<(Duration, usize)>> = JoinSet::new();
    let began = Instant::now();
    for _ in 0..WATCHES {
        let (client, from) = (client.clone(), from.clone());
        watches.spawn(async move {
            let path = format!("{MAPS}?watch=1&resourceVersion={from}");
            let response = client.send(Request::get(path).body(Body::empty())?).await?;
            let mut body = response.into_body();
            let (mut events, mut bytes) = (0, 0);
            while events < OBJECTS {
                let frame = body.frame().await.ok_or("the watch ended")??;
                let data = frame.into_data().unwrap_or_default();
                bytes += data.len();
                events += u32::try_from(memchr::memchr_iter(b'\n', &data).count())?;
            }
            Ok((began.elapsed(), bytes))
        });
    }
    let (mut slowest, mut bytes) = (Duration::ZERO, 0);
    while let Some(watched) = watches.join_next().await {
        let (took, received) = watched??;
        slowest = slowest.max(took);
        bytes = received;
    }
    let events = f64::from(OBJECTS) / slowest.as_secs_f64();
    let sent = f64::from(OBJECTS) * WATCHES as f64;
    let per_event = (server.busy() - before).as_secs_f64() * 1e6 / sent;
    println!(
        "{name:<20} {:>9.0} {creates:>11.0} {events:>21.0} {busy:>14.0} {per_event:>13.1} {:>14.1}",
        milliseconds(started),
        grown as f64 / bytes as f64
    );
    Ok(())
}

fn map(number: u32) -> Vec<u8> {
    let labels = json!({"app": format!("app-{}", number % 320)});
    let metadata = json!({"name": format!("map-{number}"), "labels": labels});
    let data = json!({"settings.yaml": "retries: 3\n".repeat(40), "number": number.to_string()});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        .to_string()
        .into()
}

async fn list_version(client: &Client) -> Result<String> {
    let response = client.send(Request::get(MAPS).body(Body::empty())?).await?;
    let list: Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.ok_or("a list without a resource version")?.into())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A running server. Dropping it ends the server.
struct Server {
    child: Child,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Server {
    /// Starts the program, and waits for its line `ready: …`.
    fn start(program: &OsString, is_sandbox: bool) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let mut command = Command::new(program);
        match is_sandbox {
            true => command.arg("--rbac").arg("--kubeconfig").arg(&kubeconfig),
            false => command.arg(folder.path()),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("the program has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        if !line.starts_with("ready: ") {
            return Err(format!("{} did not start: {line}", program.display()).into());
        }
        Ok(Self {
            child,
            kubeconfig,
            _folder: folder,
        })
    }

    async fn client(&self) -> Result<Client> {
        let options = KubeconfigOptions {
            path: Some(self.kubeconfig.clone()),
            ..Default::default()
        };
        let config = Config::from_kubeconfig(&options).await?;
        Ok(Client::new(config)?)
    }

    /// The bytes in memory of the program and of those that it has started.
    fn resident(&self) -> u64 {
        let pages = |process: &Path| {
            let text = fs::read_to_string(process.join("statm")).ok()?;
            text.split(' ').nth(1)?.parse::<u64>().ok()
        };
        let family = family(self.child.id());
        family.iter().filter_map(|one| pages(one)).sum::<u64>() * 4096
    }

    /// The time on processors of the program and of those that it has started.
    fn busy(&self) -> Duration {
        let ticks = |process: &Path| {
            let text = fs::read_to_string(process.join("stat")).ok()?;
            let (_, rest) = text.rsplit_once(") ")?;
            let fields: Vec<&str> = rest.split(' ').collect();
            Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
        };
        let family = family(self.child.id());
        let ticks: u64 = family.iter().filter_map(|one| ticks(one)).sum();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The program of tests/cluster ends its children when its input ends.
        drop(self.child.stdin.take());
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.child.wait();
    }
}

/// The folders in `/proc` of a process and its descendants.
fn family(process: u32) -> Vec<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let mut all = Vec::new();
    for task in fs::read_dir(folder.join("task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        all.extend(children.flat_map(family));
    }
    all.push(folder);
    all
}
