//! Pilothouse with what its users get by default: an informer of all Pods with one listener.
//!
//! * `Config::infer`, `Client::new`, `Informers::new`: nothing is set.
//! * `#[tokio::main]`: several threads, as `Operator::main` has.
//! * The system's allocator, or jemalloc with the feature of that name.
//!
//! An event counts when the listener is told, which is after it was stored.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use pilothouse::{
    cache::{Event, InformerScope, Informers},
    client::{Client, Config},
    k8s::api::core::v1::Pod,
    metrics::Metrics,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[path = "../../process.rs"]
mod process;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Default)]
struct Seen {
    updates: AtomicU64,
    first: Notify,
    last: Notify,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut results = process::Results::begin();
    let wanted = process::setting("BENCH_EVENTS");
    let start = Instant::now();
    let client = Client::new(Config::infer().await?)?;
    let informers = Informers::new(client, Metrics::new());
    let pods = informers.informer::<Pod>(InformerScope::all());
    let seen = Arc::new(Seen::default());
    pods.add_listener({
        let seen = seen.clone();
        move |event: &Event<Pod>| {
            if let Event::Updated { .. } = event {
                match seen.updates.fetch_add(1, Ordering::Relaxed) + 1 {
                    1 => seen.first.notify_one(),
                    count if count == wanted => seen.last.notify_one(),
                    _ => {}
                }
            }
        }
    });
    informers.start(&CancellationToken::new());
    if !pods.synced().await {
        return Err("the informer has ended".into());
    }
    let (time, cpu) = (start.elapsed(), process::cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(pods.lister().len(), time, cpu);

    if wanted > 0 {
        let cpu = process::cpu();
        seen.first.notified().await;
        let first = Instant::now();
        if wanted > 1 {
            seen.last.notified().await;
        }
        results.events_seconds = first.elapsed().as_secs_f64();
        results.events_cpu = process::cpu() - cpu;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    results.events = seen.updates.load(Ordering::Relaxed);
    results.print();
    Ok(())
}
