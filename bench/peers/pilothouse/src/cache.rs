//! An informer of all objects of a kind with one listener. An event counts when the listener receives it, which is after the
//! informer stored the object.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use pilothouse::{
    cache::{Event, InformerScope},
    resource::Resource,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    kinds,
    shared::{
        allocations::Allocations,
        process::{Results, cpu, memory, setting},
    },
};

#[derive(Default)]
struct Seen {
    events: AtomicU64,
    first: Notify,
    last: Notify,
}

pub async fn run<K: Resource>(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let wanted = setting("BENCH_EVENTS");
    let start = Instant::now();
    let informers = kinds::informers().await?;
    let objects = informers.informer::<K>(InformerScope::all());
    let seen = Arc::new(Seen::default());
    objects.add_listener({
        let seen = seen.clone();
        move |event: &Event<K>| {
            if !matches!(event, Event::Added { initial: true, .. }) {
                match seen.events.fetch_add(1, Ordering::Relaxed) + 1 {
                    1 => seen.first.notify_one(),
                    count if count == wanted => seen.last.notify_one(),
                    _ => {}
                }
            }
        }
    });
    informers.start(&CancellationToken::new());
    if !objects.synced().await {
        return Err("the informer has ended".into());
    }
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(objects.lister().len(), time, used);
    println!("synced");

    if wanted > 0 {
        let (used, asked) = (cpu(), Allocations::now());
        seen.first.notified().await;
        let first = Instant::now();
        if wanted > 1 {
            seen.last.notified().await;
        }
        results.set("events_seconds", first.elapsed().as_secs_f64());
        results.set("events_cpu", cpu() - used);
        if let (Some(asked), Some(now)) = (asked, Allocations::now()) {
            results.set("allocations", (now.count - asked.count) as f64);
            results.set("allocated", (now.bytes - asked.bytes) as f64);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    results.set("events", seen.events.load(Ordering::Relaxed) as f64);
    results.set("rss_events", memory("VmRSS"));
    Ok(())
}
