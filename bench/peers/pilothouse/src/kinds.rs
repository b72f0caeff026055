//! The kinds that the bench caches, by the name that the harness gives them.

use std::error::Error;

use pilothouse::{
    cache::Informers,
    client::{Client, Config, Encoding},
    k8s::api::core::v1::{ConfigMap, Node, Pod, Secret},
    metrics::Metrics,
};

use crate::{cache, relist, shared::process::Results, widget::Widget};

type Outcome = Result<(), Box<dyn Error>>;

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

/// Returns a client with default settings, unless the harness asks for JSON.
pub async fn client() -> Result<Client, Box<dyn Error>> {
    let builder = Client::builder(Config::infer().await?);
    let builder = match std::env::var_os("BENCH_JSON") {
        Some(_) => builder.encoding(Encoding::Json),
        None => builder,
    };
    Ok(builder.build()?)
}

/// Returns the caches with default settings, unless the feature `compressed` compresses them.
pub async fn informers() -> Result<Informers, Box<dyn Error>> {
    let builder = Informers::builder(client().await?, Metrics::new());
    #[cfg(feature = "compressed")]
    let builder = builder.compressed();
    Ok(builder.build())
}

fn shape() -> String {
    std::env::var("BENCH_SHAPE").unwrap_or_else(|_| "pods".to_owned())
}

fn unknown(shape: &str) -> Outcome {
    Err(format!("BENCH_SHAPE: unknown shape {shape}").into())
}
