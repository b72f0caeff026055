//! kube-rs with its default settings.
//!
//! * `Client::try_default`: kube-client's defaults. Cleartext or TLS as the kubeconfig says.
//! * `watcher::Config::default`: pages of 500 without a resource version, then a watch
//!   (kube-runtime `watcher.rs`, `impl Default for Config`). `BENCH_STREAMING=1` selects
//!   `streaming_lists`, which is not the default.
//! * Caches: `reflector` of all Pods. `BENCH_CLEAR=1` clears their managed fields.
//! * Controllers: `Controller::new` of ConfigMaps with `Config::default().concurrency(16)`; the default has no limit
//!   (kube-runtime `controller/mod.rs`). Its logs have no subscriber.
//! * `#[tokio::main]`: several threads.
//! * The system's allocator, inside a counting one with the feature `count`, or jemalloc with the feature `jemalloc`.

use std::error::Error;

use futures::Stream;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};

#[path = "../../shared/mod.rs"]
mod shared;

mod cache;
mod controllers;
mod relist;
mod watches;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut results = shared::process::Results::begin();
    match std::env::var("BENCH_WORKLOAD").as_deref() {
        Err(_) | Ok("cache" | "churn" | "allocations") => cache::run(&mut results).await?,
        Ok("reconcile") => controllers::nothing(&mut results).await?,
        Ok("apply") => controllers::children(&mut results).await?,
        Ok("owned") => controllers::owned(&mut results).await?,
        Ok("latency") => controllers::stamps(&mut results).await?,
        Ok("parked") => controllers::parked(&mut results).await?,
        Ok("relist") => relist::run(&mut results).await?,
        Ok("watches") => watches::run(&mut results).await?,
        Ok(other) => return Err(format!("BENCH_WORKLOAD: unknown workload {other}").into()),
    }
    results.print();
    Ok(())
}

/// A watch of all Pods, without their managed fields if the harness asks for that, with the line that kube-rs' documentation has for it
/// (kube-runtime `utils/watch_ext.rs`, `WatchStreamExt::modify`).
fn pods(client: Client) -> impl Stream<Item = watcher::Result<watcher::Event<Pod>>> {
    let clears = std::env::var_os("BENCH_CLEAR").is_some();
    watcher(Api::<Pod>::all(client), config()).modify(move |pod| {
        if clears {
            pod.managed_fields_mut().clear();
        }
    })
}

/// Returns the default configuration, unless the harness selects streamed lists.
fn config() -> watcher::Config {
    let config = watcher::Config::default();
    if std::env::var_os("BENCH_STREAMING").is_some() {
        config.streaming_lists()
    } else {
        config
    }
}
