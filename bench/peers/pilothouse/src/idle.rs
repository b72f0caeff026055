//! Informers of Pods, each with its own selector, whose watches stay silent.

use std::error::Error;

use pilothouse::{
    cache::{InformerScope, Informers, SharedInformer},
    k8s::api::core::v1::Pod,
    metrics::Metrics,
};
use tokio_util::sync::CancellationToken;

use crate::{
    kinds,
    shared::{
        idle::{CACHES, measure, one},
        process::Results,
        watches::selector,
    },
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let informers = Informers::new(kinds::client().await?, Metrics::new());
    let cancel = CancellationToken::new();
    let start = |number| {
        let pods = informers.informer::<Pod>(InformerScope::all().labels(selector(number)));
        informers.start(&cancel);
        pods
    };
    let mut caches = vec![start(0)];
    synced(&caches).await?;
    one(results).await;
    caches.extend((1..CACHES).map(start));
    synced(&caches).await?;
    measure(results).await;
    Ok(())
}

async fn synced(caches: &[SharedInformer<Pod>]) -> Result<(), Box<dyn Error>> {
    for pods in caches {
        if !pods.synced().await {
            return Err("an informer has ended".into());
        }
    }
    Ok(())
}
