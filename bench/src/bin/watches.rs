//! Measures how long a Lease renewal takes beside 300 watches. The program never reads 50 of them.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use pilothouse::{
    client::{Api, Client, Config, Deadlines, Patch, PatchParams, WatchParams},
    k8s::api::{coordination::v1::Lease, core::v1::ConfigMap},
};
use pilothouse_sandbox::Sandbox;
use serde_json::json;
use tokio::task::JoinSet;

const WATCHES: usize = 300;
const UNREAD: usize = 50;
const RENEWALS: u32 = 1000;
/// The pause between two changes of the object that all watches watch.
const PAUSE: Duration = Duration::from_millis(50);
/// The time until the HTTP/2 windows of the unread watches are full: 64 changes.
const WARM_UP: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let sandbox = Sandbox::builder().build()?;
    let server = sandbox.serve_https(([127, 0, 0, 1], 0).into()).await?;
    let client = Client::new(Config::from_yaml(&sandbox.kubeconfig(&server)).await?)?;
    let apart = client.with_own_connections(Deadlines::default().total(Duration::from_secs(5)));

    let alone = renewals(&client).await?;
    println!(
        "{:<28} {:>9} {:>9} {:>7} {:>7}",
        "a lease is renewed", "p50 ms", "p99 ms", "p50 x", "p99 x"
    );
    show("alone", &alone, &alone);

    let mut tasks = JoinSet::new();
    let changing = client.with_own_connections(Deadlines::default());
    tasks.spawn(async move {
        let maps = Api::<ConfigMap>::namespaced(&changing, "default");
        let mut tick = tokio::time::interval(PAUSE);
        for count in 0_u64.. {
            tick.tick().await;
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "watched"},
                "data": {"count": count.to_string(), "text": "x".repeat(4096)},
            });
            let apply = PatchParams::apply("bench").force();
            if let Err(error) = maps.patch("watched", &apply, &Patch::Apply(map)).await {
                eprintln!("{error}");
            }
        }
    });
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    let mut unread = Vec::new();
    for number in 0..WATCHES {
        let mut watch = maps.watch(&WatchParams::default()).await?;
        if number % (WATCHES / UNREAD) == 0 {
            unread.push(watch);
        } else {
            tasks.spawn(async move { while let Some(Ok(_)) = watch.next().await {} });
        }
    }
    tokio::time::sleep(WARM_UP).await;
    show("beside watches", &renewals(&client).await?, &alone);
    show("beside watches, apart", &renewals(&apart).await?, &alone);

    drop(unread);
    tasks.shutdown().await;
    sandbox.shutdown().await;
    Ok(())
}

/// Renews the Lease and returns the sorted durations.
async fn renewals(client: &Client) -> Result<Vec<Duration>, Box<dyn Error>> {
    let leases = Api::<Lease>::namespaced(client, "default");
    let mut times = Vec::new();
    for count in 0..RENEWALS {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
            "spec": {"holderIdentity": "bench", "leaseTransitions": count},
        });
        let apply = PatchParams::apply("bench").force();
        let start = Instant::now();
        leases.patch("leader", &apply, &Patch::Apply(lease)).await?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times)
}

fn show(what: &str, times: &[Duration], alone: &[Duration]) {
    let at = |times: &[Duration], percent: usize| {
        let time = times.get(times.len() * percent / 100).copied();
        time.unwrap_or_default().as_secs_f64() * 1e3
    };
    let (p50, p99) = (at(times, 50), at(times, 99));
    let (p50_alone, p99_alone) = (at(alone, 50), at(alone, 99));
    println!(
        "{what:<28} {p50:>9.3} {p99:>9.3} {:>7.2} {:>7.2}",
        p50 / p50_alone,
        p99 / p99_alone
    );
}
