//! A reflector of all objects of a kind, and a thread that reads from it during a relist.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::{
    Client, ResourceExt,
    runtime::{
        reflector::{self, ObjectRef, reflector},
        watcher,
    },
};

use crate::{
    kinds::{self, Kind},
    shared::{
        process::{Results, cpu},
        readers::{Reader, version},
    },
};

pub async fn run<K: Kind>(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let objects = kinds::all::<K>(Client::try_default().await?);
    let (store, writer) = reflector::store();
    // Without a backoff, although the end of a watch is an error: reads during a pause would measure nothing.
    let mut events = Box::pin(reflector(writer, objects));
    while let Some(event) = events.next().await {
        if matches!(event?, watcher::Event::InitDone) {
            break;
        }
    }
    let (time, used) = (start.elapsed(), cpu());
    let items = store.state();
    let keys: Vec<_> = items
        .iter()
        .map(|item| ObjectRef::from_obj(&**item))
        .collect();
    let versions = || -> Vec<u64> {
        let items = store.state();
        let version = |item: &std::sync::Arc<K>| version(item.resource_version().as_deref());
        items.iter().map(version).collect()
    };
    let before = versions().into_iter().max().unwrap_or_default();
    drop(items);
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(store.len(), time, used);
    let reader = Reader::start(keys, {
        let store = store.clone();
        move |key| store.get(key).is_some()
    })?;
    println!("synced");
    loop {
        // The reflector reports the end of the watch as an error.
        if let Ok(watcher::Event::Apply(changed)) =
            events.next().await.ok_or("the watch has ended")?
            && changed.annotations().contains_key("bench/stamp")
        {
            break;
        }
    }
    reader.end(results)?;
    let changed = versions()
        .iter()
        .filter(|version| **version > before)
        .count();
    results.set("changed", changed as f64);
    Ok(())
}
