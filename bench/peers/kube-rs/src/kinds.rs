//! The kinds that the bench caches, by the name that the harness gives them.

use std::{error::Error, fmt::Debug};

use futures::Stream;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::{
    Api, Client, Resource, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};
use serde::de::DeserializeOwned;

use crate::{cache, relist, shared::process::Results, widget::Widget};

type Outcome = Result<(), Box<dyn Error>>;

/// A kind that can be cached.
pub trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static> Kind
    for K
{
}

/// Fills a cache of the wanted kind and counts changes.
pub async fn cache(results: &mut Results) -> Outcome {
    match shape().as_str() {
        "pods" => cache::run::<Pod>(results).await,
        "nodes" => cache::run::<Node>(results).await,
        "secrets" => cache::run::<Secret>(results).await,
        "configmaps" | "small" => cache::run::<ConfigMap>(results).await,
        "custom" => cache::run::<Widget>(results).await,
        other => unknown(other),
    }
}

/// Reads from a cache of the wanted kind during a relist.
pub async fn relist(results: &mut Results) -> Outcome {
    match shape().as_str() {
        "pods" => relist::run::<Pod>(results).await,
        "nodes" => relist::run::<Node>(results).await,
        "secrets" => relist::run::<Secret>(results).await,
        "configmaps" | "small" => relist::run::<ConfigMap>(results).await,
        "custom" => relist::run::<Widget>(results).await,
        other => unknown(other),
    }
}

/// A watch of all objects of a kind, without their managed fields if the harness asks for that, with the line that kube-rs' documentation has
/// for it (kube-runtime `utils/watch_ext.rs`, `WatchStreamExt::modify`).
pub fn all<K: Kind>(client: Client) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> {
    let clears = std::env::var_os("BENCH_CLEAR").is_some();
    watcher(Api::<K>::all(client), crate::config()).modify(move |object| {
        if clears {
            object.managed_fields_mut().clear();
        }
    })
}

fn shape() -> String {
    std::env::var("BENCH_SHAPE").unwrap_or_else(|_| "pods".to_owned())
}

fn unknown(shape: &str) -> Outcome {
    Err(format!("BENCH_SHAPE: unknown shape {shape}").into())
}
