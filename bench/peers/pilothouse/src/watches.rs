//! Informers of all Pods, each with its own selector, unread watches, and a Lease, all with one client.

use std::{error::Error, sync::Arc};

use pilothouse::{
    cache::{Event, InformerScope, Informers},
    client::{Api, Client, Config, ListParams, PostParams, WatchParams},
    k8s::api::{
        coordination::v1::{Lease, LeaseSpec},
        core::v1::Pod,
    },
    metrics::Metrics,
};
use tokio_util::sync::CancellationToken;

use crate::shared::{
    process::Results,
    watches::{READ, Seen, UNREAD, alone, beside, selector},
};

pub async fn run(results: &mut Results) -> Result<(), Box<dyn Error>> {
    let client = Client::new(Config::infer().await?)?;
    let leases = Api::<Lease>::namespaced(&client, "default");
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

    let informers = Informers::new(client.clone(), Metrics::new());
    let seen = Arc::new(Seen::new());
    let read: Vec<_> = (0..READ)
        .map(|number| {
            let scope = InformerScope::all().labels(selector(number));
            let pods = informers.informer::<Pod>(scope);
            let seen = seen.clone();
            pods.add_listener(move |event: &Event<Pod>| {
                if !matches!(event, Event::Added { initial: true, .. }) {
                    seen.event(number);
                }
            });
            pods
        })
        .collect();
    informers.start(&CancellationToken::new());
    for pods in &read {
        if !pods.synced().await {
            return Err("an informer has ended".into());
        }
    }
    let pods = Api::<Pod>::all(&client);
    let list = pods.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        unread.push(pods.watch(&WatchParams::default().after(&version)).await?);
    }
    beside(renew, &seen, results).await?;
    drop(unread);
    Ok(())
}
