//! kube-rs with its default settings.
//!
//! * `Client::try_default`: kube-client's defaults. Cleartext or TLS as the kubeconfig says.
//! * `watcher::Config::default`: pages of 500 without a resource version, then a watch
//!   (kube-runtime `watcher.rs`, `impl Default for Config`). `BENCH_STREAMING=1` selects
//!   `streaming_lists`, which is not the default.
//! * Caches: `reflector` of all objects of the kind in `BENCH_SHAPE`. `BENCH_CLEAR=1` clears their managed fields.
//! * Controllers: `Controller::new` of ConfigMaps with `Config::default().concurrency(16)`; the default has no limit
//!   (kube-runtime `controller/mod.rs`). Its logs have no subscriber.
//! * `#[tokio::main]`: several threads.
//! * The system's allocator, inside a counting one with the feature `count`, or jemalloc with the feature `jemalloc`.

use std::error::Error;

use kube::runtime::watcher;

#[path = "../../shared/mod.rs"]
mod shared;

mod cache;
mod controllers;
mod idle;
mod kinds;
mod reads;
mod relist;
mod several;
mod watches;
mod widget;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut results = shared::process::Results::begin();
    match std::env::var("BENCH_WORKLOAD").as_deref() {
        Err(_) | Ok("cache" | "churn" | "paced" | "allocations") => {
            kinds::cache(&mut results).await?
        }
        Ok("exit") => return controllers::exit(results).await,
        Ok("idle") => idle::run(&mut results).await?,
        Ok("kinds") => several::run(&mut results).await?,
        Ok("reads") => reads::run(&mut results).await?,
        Ok("reconcile") => controllers::nothing(&mut results).await?,
        Ok("apply") => controllers::children(&mut results).await?,
        Ok("owned") => controllers::owned(&mut results).await?,
        Ok("latency") => controllers::stamps(&mut results).await?,
        Ok("parked") => controllers::parked(&mut results).await?,
        Ok("relist") => kinds::relist(&mut results).await?,
        Ok("watches") => watches::run(&mut results).await?,
        Ok(other) => return Err(format!("BENCH_WORKLOAD: unknown workload {other}").into()),
    }
    results.print();
    Ok(())
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
