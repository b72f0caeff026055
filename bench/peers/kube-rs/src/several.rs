//! Reflectors of four kinds in one process, as an operator with several kinds has them.

use std::{
    error::Error,
    pin::pin,
    time::{Duration, Instant},
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::{
    Client,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store, reflector},
    },
};

use crate::{
    kinds::{self, Kind},
    shared::process::{Results, cpu},
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let client = Client::try_default().await?;
    let pods = cache::<Pod>(&client);
    let nodes = cache::<Node>(&client);
    let config_maps = cache::<ConfigMap>(&client);
    let secrets = cache::<Secret>(&client);
    pods.wait_until_ready().await?;
    nodes.wait_until_ready().await?;
    config_maps.wait_until_ready().await?;
    secrets.wait_until_ready().await?;
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let objects = pods.len() + nodes.len() + config_maps.len() + secrets.len();
    results.synced(objects, time, used);
    println!("synced");
    Ok(())
}

/// Starts a task that fills a cache of a kind.
fn cache<K: Kind>(client: &Client) -> Store<K> {
    let (store, writer) = reflector::store();
    let events = reflector(writer, kinds::all::<K>(client.clone()).default_backoff());
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
