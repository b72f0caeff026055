//! The soak test. Two processes of an operator run while users and a rival manager write all the time. Processes are killed
//! and stopped, and the network fails. At the end every object must be in the state that its user wants.
//!
//! The test runs against the control plane that the environment names (see `pilothouse_tests::real`), or against the sandbox.
//! `PILOTHOUSE_SOAK` is the duration in seconds (default 10); from 300 s on there are 2 000 objects.
//! `PILOTHOUSE_SEED` selects another random run.
#![cfg(unix)]

mod churn;
mod gateway;
mod programs;

use std::{fs, net::SocketAddr, time::Duration};

use churn::Churn;
use fastrand::Rng;
use gateway::{Gateway, Network};
use pilothouse::{
    client::{Client, Config, KubeconfigOptions},
    crd,
    resource::Resource,
};
use pilothouse_sandbox::{HttpsServer, Sandbox};
use pilothouse_tests::{real::RealServer, soak::Bundle};
use programs::Programs;
use tokio::time::{Instant, sleep};

/// The time in which the operator must reach the desired state after the last outage.
const PATIENCE: Duration = Duration::from_secs(120);
/// The limit of the resident memory of a process, for a build without optimisation.
const MOST_MEMORY_KIB: u64 = 256 * 1024;

/// The API server, which ends when this is dropped.
enum Server {
    Real(RealServer),
    Sandbox {
        https: HttpsServer,
        sandbox: Sandbox,
    },
}

impl Server {
    async fn start() -> Self {
        // Without these variables `from_environment` would print that the test is skipped, but it runs against the sandbox.
        let named = ["PILOTHOUSE_CLUSTER", "PILOTHOUSE_CLUSTER_BINARY"];
        if named.iter().any(|name| std::env::var_os(name).is_some())
            && let Some(real) = RealServer::from_environment(&[])
        {
            return Self::Real(real);
        }
        let sandbox = Sandbox::builder().build().unwrap();
        let https = sandbox.serve_https(([127, 0, 0, 1], 0).into()).await;
        let https = https.unwrap();
        Self::Sandbox { https, sandbox }
    }

    fn kubeconfig(&self) -> String {
        match self {
            Self::Real(real) => fs::read_to_string(real.kubeconfig()).unwrap(),
            Self::Sandbox { https, sandbox } => sandbox.kubeconfig(https),
        }
    }
}

/// Returns the server's address in a kubeconfig.
fn address(kubeconfig: &str) -> SocketAddr {
    let lines = kubeconfig.lines().map(str::trim);
    let mut urls = lines.filter_map(|line| line.strip_prefix("server: https://"));
    urls.next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_is_right_after_kills_outages_and_a_rival_manager() {
    let seconds = std::env::var("PILOTHOUSE_SOAK").map_or(10, |text| text.parse().unwrap());
    let seed = std::env::var("PILOTHOUSE_SEED").map_or(seconds, |text| text.parse().unwrap());
    let mut random = Rng::with_seed(seed);
    let server = Server::start().await;
    let kubeconfig = server.kubeconfig();
    let gateway = Gateway::to(address(&kubeconfig)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name| folder.path().join(name);
    fs::write(file("direct"), &kubeconfig).unwrap();
    let through = address(&kubeconfig).to_string();
    let through = kubeconfig.replace(&through, &gateway.addr().to_string());
    fs::write(file("config"), through).unwrap();

    let options = KubeconfigOptions {
        path: Some(file("direct")),
        ..KubeconfigOptions::default()
    };
    let client = Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap();
    let definition = Bundle::definition().unwrap().unwrap();
    crd::install(&client, &[definition], "soak").await.unwrap();
    let mut programs = Programs::start(2, folder.path());
    let mut churn = Churn::new(&client, random.fork(), if seconds < 300 { 40 } else { 400 });
    churn.fill().await;

    let end = Instant::now() + Duration::from_secs(seconds);
    let mut disasters = 0;
    while Instant::now() < end {
        let calm = Instant::now() + Duration::from_millis(random.u64(2_000..8_000));
        while Instant::now() < calm.min(end) {
            churn.step().await;
            sleep(Duration::from_millis(20)).await;
        }
        programs.keep_running();
        disasters += 1;
        disaster(&gateway, &programs, &mut churn, &mut random).await;
    }

    let late = Instant::now() + PATIENCE;
    loop {
        programs.keep_running();
        let differences = churn.differences().await;
        if differences.is_empty() {
            break;
        }
        assert!(
            Instant::now() < late,
            "seed {seed}: {} differences: {:#?}\n{}",
            differences.len(),
            &differences[..differences.len().min(10)],
            programs.logs()
        );
        sleep(Duration::from_secs(1)).await;
    }
    println!(
        "{seconds} s, seed {seed}: {} writes by others, {disasters} disasters, {} starts, at most {} MiB",
        churn.writes,
        programs.starts,
        programs.most_memory / 1024
    );
    assert!(churn.writes > 0 && disasters > 0);
    assert!(programs.most_memory < MOST_MEMORY_KIB);
}

/// Causes one failure while the users continue.
async fn disaster(gateway: &Gateway, programs: &Programs, churn: &mut Churn, random: &mut Rng) {
    let victim = random.usize(..programs.count());
    let time = Duration::from_millis(random.u64(500..8_500));
    let kind = random.u8(..6);
    let work = async {
        loop {
            churn.step().await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    let trouble = async {
        match kind {
            0 | 1 => programs.signal(victim, "KILL"),
            2 => programs.signal(victim, "TERM"),
            3 => {
                programs.signal(victim, "STOP");
                sleep(time).await;
                programs.signal(victim, "CONT");
            }
            4 => gateway.behave(Network::Refuses, time).await,
            _ => gateway.behave(Network::Stalls, time).await,
        }
    };
    tokio::select! {
        () = trouble => {}
        () = work => {}
    }
}
