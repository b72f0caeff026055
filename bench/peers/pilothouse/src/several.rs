//! Informers of four kinds in one process, as an operator with several kinds has them.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use pilothouse::{
    cache::InformerScope,
    k8s::api::core::v1::{ConfigMap, Node, Pod, Secret},
};
use tokio_util::sync::CancellationToken;

use crate::{
    kinds,
    shared::process::{Results, cpu},
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let informers = kinds::informers().await?;
    let pods = informers.informer::<Pod>(InformerScope::all());
    let nodes = informers.informer::<Node>(InformerScope::all());
    let config_maps = informers.informer::<ConfigMap>(InformerScope::all());
    let secrets = informers.informer::<Secret>(InformerScope::all());
    informers.start(&CancellationToken::new());
    let synced = [
        pods.synced().await,
        nodes.synced().await,
        config_maps.synced().await,
        secrets.synced().await,
    ];
    if synced.contains(&false) {
        return Err("an informer has ended".into());
    }
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let objects = pods.lister().len()
        + nodes.lister().len()
        + config_maps.lister().len()
        + secrets.lister().len();
    results.synced(objects, time, used);
    println!("synced");
    Ok(())
}
