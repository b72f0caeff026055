//! A soak: two processes of an operator, users and a rival manager who write all the time, kills, stops and outages; and
//! at the end every object is as its users asked.
//!
//! It runs against the control plane that the environment names (see `pilothouse_tests::real`), or against the sandbox.
//! `PILOTHOUSE_SOAK` is how long, in seconds (10 when it is not set); from 300 s on there are 2 000 objects.
//! `PILOTHOUSE_SEED` makes another run.
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

/// How long the operator may take to bring everything in order after the last outage.
const PATIENCE: Duration = Duration::from_secs(120);
/// Most resident memory of a process, of a build without optimisation.
const MOST_MEMORY_KIB: u64 = 256 * 1024;

/// The API server, until this is dropped.
enum Server {
    Real(RealServer),
    Sandbox {
        https: HttpsServer,
        sandbox: Sandbox,
    },
}

impl Server {
    async fn start() -> Self {
        // Nothing else may be left out: without a real server there is the sandbox.
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

/// The server's address in a kubeconfig.
fn address(kubeconfig: &str) -> SocketAddr {
    let lines = kubeconfig.lines().map(str::trim);
    let mut urls = lines.filter_map(|line| line.strip_prefix("server: https://"));
    urls.next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_is_right_after_kills_outages_and_a_rival_manager() {
    let seconds = std::env::var("PILOTHOUSE_SOAK").map_or(10, |text| text.parse().unwrap());
    let seed = std::env::var("PILOTHOUSE_SEED").map_or(seconds, |text| text.parse().unwrap());
    let mut dice = Rng::with_seed(seed);
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
    let mut churn = Churn::new(&client, dice.fork(), if seconds < 300 { 40 } else { 400 });
    churn.fill().await;

    let end = Instant::now() + Duration::from_secs(seconds);
    let mut disasters = 0;
    while Instant::now() < end {
        let calm = Instant::now() + Duration::from_millis(dice.u64(2_000..8_000));
        while Instant::now() < calm.min(end) {
            churn.step().await;
            sleep(Duration::from_millis(20)).await;
        }
        programs.keep_running();
        disasters += 1;
        disaster(&gateway, &programs, &mut churn, &mut dice).await;
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

/// One bad thing that happens while the users go on.
async fn disaster(gateway: &Gateway, programs: &Programs, churn: &mut Churn, dice: &mut Rng) {
    let victim = dice.usize(..programs.count());
    let time = Duration::from_millis(dice.u64(500..8_500));
    let kind = dice.u8(..6);
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
