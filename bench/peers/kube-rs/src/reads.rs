//! Gets from a reflector of all Pods.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Client,
    runtime::{
        reflector::{self, ObjectRef, reflector},
        watcher,
    },
};

use crate::{
    kinds,
    shared::{
        gets::measure,
        process::{Results, cpu},
    },
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let pods = kinds::all::<Pod>(Client::try_default().await?);
    let (store, writer) = reflector::store();
    let mut events = Box::pin(reflector(writer, pods));
    while let Some(event) = events.next().await {
        if matches!(event?, watcher::Event::InitDone) {
            break;
        }
    }
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(store.len(), time, used);
    println!("synced");
    let pods = store.state();
    let keys = pods.iter().map(|pod| ObjectRef::from_obj(&**pod)).collect();
    drop(pods);
    measure(results, keys, |key| store.get(key).is_some())?;
    Ok(())
}
