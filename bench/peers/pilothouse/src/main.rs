//! Pilothouse with its default settings.
//!
//! * `Config::infer` and its clients without further settings.
//! * Caches: `Informers::new`, one informer of all Pods.
//! * Controllers: an `Operator` without an election and without an HTTP listener, and a `Controller` of ConfigMaps with
//!   16 workers, started from the user's own `main`. Its logs have no subscriber.
//! * `#[tokio::main]`: several threads, as `Operator::main` has.
//! * The system's allocator, inside a counting one with the feature `count`, or jemalloc with the feature `jemalloc`.

use std::error::Error;

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
