//! An informer of all objects of a kind, and a thread that reads from it during a relist.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use pilothouse::{
    cache::{Event, InformerScope},
    resource::{ObjectKey, Resource},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    kinds,
    shared::{
        process::{Results, cpu},
        readers::{Reader, version},
    },
};

pub async fn run<K: Resource>(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let informers = kinds::informers().await?;
    let objects = informers.informer::<K>(InformerScope::all());
    let done = Arc::new(Notify::new());
    objects.add_listener({
        let done = done.clone();
        move |event: &Event<K>| {
            if let Event::Updated { new, .. } = event
                && let Ok(new) = new.object()
                && let Some(annotations) = &new.metadata().annotations
                && annotations.contains_key("bench/stamp")
            {
                done.notify_one();
            }
        }
    });
    informers.start(&CancellationToken::new());
    if !objects.synced().await {
        return Err("the informer has ended".into());
    }
    let (time, used) = (start.elapsed(), cpu());
    let lister = objects.lister();
    let keys: Vec<ObjectKey> = lister.list().items.iter().map(|item| item.key()).collect();
    let newest = || {
        let items = lister.list().items;
        let versions = items.iter().map(|item| version(item.resource_version()));
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
