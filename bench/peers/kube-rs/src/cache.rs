//! A reflector of all objects of a kind. An event counts when `reflector` returns it, which is after it stored the object.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::{
    Client,
    runtime::{reflector, watcher},
};

use crate::{
    kinds::{self, Kind},
    shared::{
        allocations::Allocations,
        process::{Results, cpu, memory, setting},
    },
};

pub async fn run<K: Kind>(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let wanted = setting("BENCH_EVENTS");
    let start = Instant::now();
    let objects = kinds::all::<K>(Client::try_default().await?);
    let (reader, writer) = reflector::store();
    let mut events = Box::pin(reflector(writer, objects));
    while let Some(event) = events.next().await {
        if matches!(event?, watcher::Event::InitDone) {
            break;
        }
    }
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(reader.len(), time, used);
    println!("synced");

    let (mut first, mut seen, used) = (None, 0, cpu());
    let asked = Allocations::now();
    while seen < wanted {
        match events.next().await.ok_or("the watch has ended")?? {
            watcher::Event::Apply(_) | watcher::Event::Delete(_) => seen += 1,
            other => return Err(format!("expected a change: {other:?}").into()),
        }
        first.get_or_insert_with(Instant::now);
    }
    if let Some(first) = first {
        results.set("events_seconds", first.elapsed().as_secs_f64());
        results.set("events_cpu", cpu() - used);
        if let (Some(asked), Some(now)) = (asked, Allocations::now()) {
            results.set("allocations", (now.count - asked.count) as f64);
            results.set("allocated", (now.bytes - asked.bytes) as f64);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    results.set("events", seen as f64);
    results.set("rss_events", memory("VmRSS"));
    Ok(())
}
