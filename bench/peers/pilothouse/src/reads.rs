//! Gets from an informer of all Pods, and from one of a view of them.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use pilothouse::{
    cache::{InformerScope, Informers},
    k8s::api::core::v1::Pod,
    metrics::Metrics,
    prelude::*,
    resource::ObjectKey,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    kinds,
    shared::{
        gets::{measure, once},
        process::{Results, cpu},
    },
};

/// A part of a Pod. The cache skips all other fields.
#[derive(Resource, Clone, Debug, Deserialize, Serialize)]
#[resource(view_of = Pod)]
struct PodPhase {
    metadata: ObjectMeta,
    status: Option<Phase>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Phase {
    phase: Option<String>,
}

pub async fn run(results: &mut Results) -> std::result::Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let informers = Informers::new(kinds::client().await?, Metrics::new());
    let cancel = CancellationToken::new();
    let pods = informers.informer::<Pod>(InformerScope::all());
    informers.start(&cancel);
    if !pods.synced().await {
        return Err("the informer has ended".into());
    }
    let (time, used) = (start.elapsed(), cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let lister = pods.lister();
    results.synced(lister.len(), time, used);
    println!("synced");

    // The keys come from the view, so that no Pod has been read before.
    let views = informers.informer::<PodPhase>(InformerScope::all());
    informers.start(&cancel);
    if !views.synced().await {
        return Err("the informer of views has ended".into());
    }
    let views = views.lister();
    let mut keys: Vec<ObjectKey> = views.list().items.iter().map(|view| view.key()).collect();
    measure(results, keys.clone(), |key| {
        matches!(lister.get(key), Ok(Some(_)))
    })?;
    let get = |key: &ObjectKey| matches!(views.get(key), Ok(Some(_)));
    once(results, ["view_p50", "view_p99"], &mut keys, &get)?;
    Ok(())
}
