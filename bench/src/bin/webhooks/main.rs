//! Measures the webhook server beside that of controller-runtime, as an API server calls them: requests per second, latency at 2000 requests
//! per second, processor time, and memory.
//!
//! `cargo run --release -p pilothouse-bench --features framework --bin webhooks [seconds]` builds the Go peer and starts both as programs, one after
//! the other, with the same certificate. The caller shares the processors with them.

mod load;
mod served;

use std::{
    env,
    error::Error,
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use load::{Connection, Load};
use pilothouse_sandbox::Sandbox;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

const ROUNDS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [mode, folder, port, kubeconfig] = &arguments[..]
        && mode == "serve"
    {
        return served::serve(Path::new(folder), port.parse()?, Path::new(kubeconfig)).await;
    }
    let seconds = arguments.first().map_or(Ok(10), |text| text.parse())?;
    let time = Duration::from_secs(seconds);

    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::write(folder.join("tls.crt"), made.cert.pem())?;
    fs::write(folder.join("tls.key"), made.signing_key.serialize_pem())?;
    let sandbox = Sandbox::builder().build()?;
    let server = sandbox.serve_https(([127, 0, 0, 1], 0).into()).await?;
    let kubeconfig = folder.join("kubeconfig");
    fs::write(&kubeconfig, sandbox.kubeconfig(&server))?;
    let go = go_peer()?;

    println!(
        "| webhook | server | requests/s | CPU µs | p50 ms | p99 ms | memory before, MiB | after, MiB |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, load) in [
        ("validate a ConfigMap", Load::validation()),
        ("mutate a Pod", Load::mutation()),
    ] {
        let mut rows = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (number, peer) in [None, Some(&go)].into_iter().enumerate() {
                let server = Server::start(peer, folder, &kubeconfig)?;
                rows[number].push(server.measure(folder, &load, time).await?);
            }
        }
        for (peer, row) in ["pilothouse", "controller-runtime"].iter().zip(&mut rows) {
            let median = |of: fn(&Figures) -> f64| {
                let mut all: Vec<f64> = row.iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all[all.len() / 2]
            };
            println!(
                "| {name} | {peer} | {:.0} | {:.0} | {:.2} | {:.2} | {:.1} | {:.1} |",
                median(|one| one.rate),
                median(|one| one.cpu),
                median(|one| one.p50),
                median(|one| one.p99),
                median(|one| one.before),
                median(|one| one.after),
            );
        }
    }
    Ok(())
}

/// Builds the program of the Go peer.
fn go_peer() -> Result<PathBuf, Failure> {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = bench.join("../target/peers/webhooks");
    let status = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&program)
        .arg("./webhooks")
        .current_dir(bench.join("peers/go"))
        .status()?;
    match status.success() {
        true => Ok(program),
        false => Err("the Go peer cannot be built".into()),
    }
}

/// What one server did with one load.
struct Figures {
    rate: f64,
    /// Microseconds of the server's processor time for each request, at the highest rate.
    cpu: f64,
    /// Milliseconds.
    p50: f64,
    p99: f64,
    /// Resident MiB after the first second of load, and after everything.
    before: f64,
    after: f64,
}

/// A program that serves webhooks.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts the peer, or without one this program.
    fn start(peer: Option<&PathBuf>, folder: &Path, kubeconfig: &Path) -> Result<Self, Failure> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let port = address.port().to_string();
        let mut command = match peer {
            Some(program) => Command::new(program),
            None => {
                let mut command = Command::new(env::current_exe()?);
                command.arg("serve");
                command
            }
        };
        command.arg(folder).arg(port);
        if peer.is_none() {
            command.arg(kubeconfig);
        }
        let child = command.stdin(Stdio::null()).spawn()?;
        Ok(Self { child, address })
    }

    async fn measure(
        &self,
        folder: &Path,
        load: &Load,
        time: Duration,
    ) -> Result<Figures, Failure> {
        let connection = self.connected(folder).await?;
        load.rate(&connection, Duration::from_secs(1)).await?;
        let (before, busy) = (self.resident()?, self.busy()?);
        let rate = load.rate(&connection, time).await?;
        let cpu = (self.busy()? - busy).as_secs_f64() * 1e6 / (rate * time.as_secs_f64());
        let latencies = load.latencies(&connection, time).await?;
        let at = |share: f64| {
            let place = (latencies.len() as f64 * share) as usize;
            latencies[place.min(latencies.len() - 1)].as_secs_f64() * 1e3
        };
        Ok(Figures {
            rate,
            cpu,
            p50: at(0.5),
            p99: at(0.99),
            before,
            after: self.resident()?,
        })
    }

    async fn connected(&self, folder: &Path) -> Result<Connection, Failure> {
        let begun = Instant::now();
        loop {
            match Connection::open(self.address, folder).await {
                Err(_) if begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                connection => return connection,
            }
        }
    }

    fn resident(&self) -> Result<f64, Failure> {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.child.id()))?;
        let pages = text.split(' ').nth(1).ok_or("no resident pages")?;
        Ok(pages.parse::<f64>()? * 4096.0 / 1024.0 / 1024.0)
    }

    /// The time on processors.
    fn busy(&self) -> Result<Duration, Failure> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, rest) = text.rsplit_once(") ").ok_or("no name")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = |number: usize| fields.get(number).and_then(|text| text.parse::<u64>().ok());
        let (user, system) = (ticks(11), ticks(12));
        Ok(Duration::from_millis(
            (user.unwrap_or(0) + system.unwrap_or(0)) * 10,
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
