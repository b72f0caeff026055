//! An informer of all Pods, and a thread that reads from it during a relist.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use pilothouse::{
    cache::{Event, InformerScope, Informers},
    client::{Client, Config},
    k8s::api::core::v1::Pod,
    metrics::Metrics,
    resource::{Object, ObjectKey},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::shared::{
    process::{Results, cpu},
    readers::{Reader, version},
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let client = Client::new(Config::infer().await?)?;
    let informers = Informers::new(client, Metrics::new());
    let pods = informers.informer::<Pod>(InformerScope::all());
    let done = Arc::new(Notify::new());
    pods.add_listener({
        let done = done.clone();
        move |event: &Event<Pod>| {
            if let Event::Updated { new, .. } = event
                && let Ok(new) = new.object()
                && let Some(annotations) = &new.metadata.annotations
                && annotations.contains_key("bench/stamp")
            {
                done.notify_one();
            }
        }
    });
    informers.start(&CancellationToken::new());
    if !pods.synced().await {
        return Err("the informer has ended".into());
    }
    let (time, used) = (start.elapsed(), cpu());
    let lister = pods.lister();
    let keys: Vec<ObjectKey> = lister.list().items.iter().map(|pod| pod.key()).collect();
    let newest = || {
        let pods = lister.list().items;
        let versions = pods.iter().map(|pod| version(pod.resource_version()));
        versions.collect::<Vec<_>>()
    };
    let before = newest().into_iter().max().unwrap_or_default();
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(lister.len(), time, used);
    let reader = Reader::start(keys, {
        let lister = lister.clone();
        move |key| matches!(lister.get(key), Ok(Some(_)))
    })?;
    println!("synced");
    done.notified().await;
    reader.end(results)?;
    let changed = newest().iter().filter(|version| **version > before).count();
    results.set("changed", changed as f64);
    Ok(())
}
