//! kube-rs with what its users get by default: a reflector of all Pods.
//!
//! * `Client::try_default`: kube-client's defaults. Cleartext or TLS as the kubeconfig says.
//! * `watcher::Config::default`: pages of 500 without a resource version, then a watch
//!   (kube-runtime `watcher.rs`, `impl Default for Config`). `BENCH_STREAMING=1` asks for
//!   `streaming_lists`, which is not the default.
//! * `#[tokio::main]`: several threads.
//! * glibc's allocator, or jemalloc with the feature of that name.
//!
//! An event counts when it comes out of `reflect`, which has stored it then.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    runtime::{reflector, watcher},
};

#[path = "../../process.rs"]
mod process;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut results = process::Results::begin();
    let wanted = process::setting("BENCH_EVENTS");
    let start = Instant::now();
    let pods: Api<Pod> = Api::all(Client::try_default().await?);
    let mut config = watcher::Config::default();
    if std::env::var_os("BENCH_STREAMING").is_some() {
        config = config.streaming_lists();
    }
    let (reader, writer) = reflector::store();
    let mut events = Box::pin(reflector(writer, watcher(pods, config)));
    while let Some(event) = events.next().await {
        if matches!(event?, watcher::Event::InitDone) {
            break;
        }
    }
    let (time, cpu) = (start.elapsed(), process::cpu());
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.synced(reader.len(), time, cpu);

    let (mut first, cpu) = (None, process::cpu());
    while results.events < wanted {
        match events.next().await.ok_or("the watch has ended")?? {
            watcher::Event::Apply(_) => results.events += 1,
            other => return Err(format!("not a modification: {other:?}").into()),
        }
        first.get_or_insert_with(Instant::now);
    }
    if let Some(first) = first {
        results.events_seconds = first.elapsed().as_secs_f64();
        results.events_cpu = process::cpu() - cpu;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    results.print();
    Ok(())
}
