//! Pilothouse with its default settings.
//!
//! * `Config::infer` and its clients without further settings. `BENCH_JSON=1` selects JSON.
//! * Caches: `Informers::new`, one informer of all objects of the kind in `BENCH_SHAPE`.
//! * Controllers: an `Operator` without an election and without an HTTP listener, and a `Controller` of ConfigMaps with
//!   16 workers, started from the user's own `main`. Its logs have no subscriber.
//! * `#[tokio::main]`: several threads, as `Operator::main` has, which runs `exit`.
//! * The system's allocator, inside a counting one with the feature `count`, or the allocator with the name of the feature: `jemalloc` or `mimalloc`.

use std::{error::Error, process::ExitCode};

#[path = "../../shared/mod.rs"]
mod shared;

mod cache;
mod controllers;
mod exit;
mod idle;
mod kinds;
mod reads;
mod relist;
mod several;
mod watches;
mod widget;

use shared::process::Results;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let results = Results::begin();
    if std::env::var("BENCH_WORKLOAD").as_deref() == Ok("exit") {
        return exit::run(results);
    }
    match measure(results) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn measure(mut results: Results) -> Result<(), Box<dyn Error>> {
    match std::env::var("BENCH_WORKLOAD").as_deref() {
        Err(_) | Ok("cache" | "churn" | "paced" | "allocations") => {
            kinds::cache(&mut results).await?
        }
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
