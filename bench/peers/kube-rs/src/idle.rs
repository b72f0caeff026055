//! Reflectors of Pods, each with its own selector, whose watches stay silent.

use std::{error::Error, pin::pin};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store, reflector},
        watcher,
    },
};

use crate::shared::{
    idle::{CACHES, measure, one},
    process::Results,
    watches::selector,
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let pods = Api::<Pod>::all(Client::try_default().await?);
    let mut caches = vec![cache(&pods, 0)];
    caches[0].wait_until_ready().await?;
    one(results).await;
    caches.extend((1..CACHES).map(|number| cache(&pods, number)));
    for cache in &caches {
        cache.wait_until_ready().await?;
    }
    measure(results).await;
    Ok(())
}

/// Starts a task that fills a cache.
fn cache(pods: &Api<Pod>, number: usize) -> Store<Pod> {
    let (store, writer) = reflector::store();
    let config = crate::config().labels(&selector(number));
    let events = reflector(writer, watcher(pods.clone(), config).default_backoff());
    tokio::spawn(async move {
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            if let Err(error) = event {
                eprintln!("{error}");
            }
        }
    });
    store
}
