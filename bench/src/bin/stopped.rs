//! Checks that memory stays flat while a listener does not read: endless events on a few objects.
//!
//! `cargo run --release -p pilothouse-bench --features framework --bin stopped [events]`, ten million events by
//! default. The source runs in the process and delivers events as fast as the informer reads them; the program never
//! reads the informer's `EventStream`.

use std::{env, error::Error, fs, time::Instant};

use futures_util::stream::{self, BoxStream, StreamExt};
use pilothouse::{
    cache::{InformerScope, ListerWatcher, SharedInformer},
    client::{self, ListParams, ObjectList, WatchEvent, WatchParams},
    k8s::api::core::v1::ConfigMap,
    metrics::Metrics,
    resource::{ApiResource, ObjectMeta},
};
use tokio_util::sync::CancellationToken;

const OBJECTS: u64 = 100;

struct Changes {
    resource: ApiResource,
    events: u64,
}

fn object(number: u64, version: u64) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("o{number}")),
            namespace: Some("default".into()),
            uid: Some(format!("u{number}")),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        data: Some([("key".to_owned(), "x".repeat(200))].into()),
        ..ConfigMap::default()
    }
}

impl ListerWatcher<ConfigMap> for Changes {
    type Item = ConfigMap;
    type Watch = BoxStream<'static, Result<WatchEvent<ConfigMap>, client::Error>>;

    async fn list(&self, _: &ListParams) -> Result<ObjectList<ConfigMap>, client::Error> {
        let mut list = ObjectList {
            items: (0..OBJECTS).map(|number| object(number, 1)).collect(),
            ..ObjectList::default()
        };
        list.metadata.resource_version = Some("1".into());
        Ok(list)
    }

    async fn watch(&self, _: &WatchParams) -> Result<Self::Watch, client::Error> {
        let changes = (0..self.events)
            .map(|number| Ok(WatchEvent::Modified(object(number % OBJECTS, number + 2))));
        Ok(stream::iter(changes).chain(stream::pending()).boxed())
    }

    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn namespace(&self) -> Option<&str> {
        None
    }
}

/// Returns the resident memory in KiB, or `None` where the system does not report it.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let events = env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |count| count.parse())?;
    let resource = ApiResource::of::<ConfigMap>();
    let metrics = Metrics::new();
    let informer = SharedInformer::new(
        Changes { resource, events },
        InformerScope::all(),
        metrics.informer("", "v1", "configmaps"),
    );
    let stopped = informer.stream();
    let cancel = CancellationToken::new();
    let task = tokio::spawn(informer.run(cancel.clone()));
    informer.synced().await;
    let start = Instant::now();
    let mut next = 0;
    println!("| events | waiting | resident KiB | seconds |\n| --- | --- | --- | --- |");
    loop {
        let snapshot = informer.lister().snapshot();
        let version: u64 = snapshot.resource_version().unwrap_or("1").parse()?;
        let taken = version - 1;
        drop(snapshot);
        if taken >= next {
            let (waiting, memory) = (stopped.pending(), resident().unwrap_or_default());
            let seconds = start.elapsed().as_secs_f64();
            println!("| {taken} | {waiting} | {memory} | {seconds:.1} |");
            next = taken + (events / 10).max(1);
        }
        if taken >= events {
            break;
        }
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    task.await?;
    Ok(())
}
