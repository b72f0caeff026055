//! Reflectors of all Pods, each with its own selector, unread watches, and a Lease, all with one client.

use std::{error::Error, pin::pin, sync::Arc};

use futures::StreamExt;
use k8s_openapi::api::{
    coordination::v1::{Lease, LeaseSpec},
    core::v1::Pod,
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams, WatchParams},
    runtime::{WatchStreamExt, reflector, watcher},
};

use crate::shared::{
    process::Results,
    watches::{READ, Seen, UNREAD, alone, beside, selector},
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    let leases = Api::<Lease>::namespaced(client.clone(), "default");
    let renew = async |count: u64| {
        let mut lease = Lease::default();
        lease.metadata.name = Some("leader".to_owned());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some("bench".to_owned()),
            lease_transitions: Some(count as i32),
            ..LeaseSpec::default()
        });
        let renewed = leases
            .replace("leader", &PostParams::default(), &lease)
            .await;
        renewed.map(drop)
    };
    alone(renew, results).await?;

    let pods = Api::<Pod>::all(client);
    let seen = Arc::new(Seen::new());
    let mut caches = Vec::new();
    for number in 0..READ {
        let (cache, writer) = reflector::store();
        let config = crate::config().labels(&selector(number));
        let events = reflector(writer, watcher(pods.clone(), config).default_backoff());
        caches.push(cache);
        let seen = seen.clone();
        tokio::spawn(async move {
            let mut events = pin!(events);
            while let Some(event) = events.next().await {
                match event {
                    Ok(watcher::Event::Apply(_)) => seen.event(number),
                    Ok(_) => {}
                    Err(error) => eprintln!("{error}"),
                }
            }
        });
    }
    for cache in &caches {
        cache.wait_until_ready().await?;
    }
    let list = pods.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        unread.push(pods.watch(&WatchParams::default(), &version).await?.boxed());
    }
    beside(renew, &seen, results).await?;
    drop(unread);
    Ok(())
}
