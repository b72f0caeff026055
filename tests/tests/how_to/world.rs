//! What the tests of the recipes share.

use pilothouse::{client::ListParams, k8s::api::events::v1::Event, prelude::*, testing::Cluster};

use crate::site::{Site, SiteSpec};

/// A Site with one Pod.
pub(crate) fn site(name: &str) -> Site {
    Site {
        spec: SiteSpec {
            image: "nginx:1".into(),
            replicas: 1,
            ..Default::default()
        },
        ..Site::named(name)
    }
}

/// The reasons of the Events about the object, the oldest first.
pub(crate) async fn events(cluster: &Cluster, name: &str) -> Vec<Event> {
    let events = cluster.api::<Event>().list(&ListParams::default()).await;
    let mut found = events.unwrap().items;
    let is_about = |event: &Event| {
        let about = event.regarding.as_ref();
        about.and_then(|about| about.name.as_deref()) == Some(name)
    };
    found.retain(is_about);
    found.sort_by_key(|event| event.event_time.clone());
    found
}

/// The reasons of the operator's Events about the object. Those of Kubernetes' controllers about a child of its name do not count.
pub(crate) async fn reasons(cluster: &Cluster, name: &str) -> Vec<String> {
    let found = events(cluster, name).await;
    let is_child = |event: &Event| {
        let regarding = event.regarding.as_ref();
        regarding.is_some_and(|one| one.kind.as_deref() == Some("Deployment"))
    };
    let found = found.into_iter().filter(|event| !is_child(event));
    let reasons = found.filter_map(|event| event.reason);
    reasons.collect()
}

/// The message of the condition `Ready`.
pub(crate) fn ready_message(site: &Site) -> String {
    let conditions = site.status.iter().flat_map(|status| &status.conditions);
    let mut ready = conditions.filter(|one| one.type_ == "Ready");
    ready
        .next()
        .map(|one| one.message.clone())
        .unwrap_or_default()
}
