//! Counts what ResourceQuotas limit. The API itself counts what clients create; this controller counts what a quota finds at its beginning,
//! and what is no longer used.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::feed::{Feed, FeedEvent};
use crate::api::{Handle, recount_quota};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

pub(crate) fn quotas() -> GroupResource {
    GroupResource::new("", "resourcequotas")
}

/// The longest time until a quota is counted again. Nothing else notices that the grace period of a Pod is over.
const RESYNC: Duration = Duration::from_secs(300);

/// Keeps the status of each quota.
pub(crate) async fn count(core: Arc<Core>) {
    let handle = Handle::new(&core, "resourcequota-controller");
    while one_exists(&handle).await {
        // It follows every kind, which costs memory, so it lives as long as there are quotas.
        let mut feed = Feed::new(&handle, None);
        loop {
            let events = tokio::time::timeout(RESYNC, feed.next()).await;
            let places: Option<BTreeSet<String>> = events
                .ok()
                .map(|events| events.iter().filter_map(concerned).collect());
            let all = handle.list(&quotas(), None);
            if all.is_empty() {
                break;
            }
            for quota in all {
                let namespace = meta::text(&quota, "namespace");
                if places
                    .as_ref()
                    .is_none_or(|places| places.contains(namespace))
                {
                    recount_quota(&core, namespace, meta::name(&quota));
                }
            }
        }
    }
}

/// Waits until a quota exists. Returns `false` if the server does not serve the kind.
async fn one_exists(handle: &Handle) -> bool {
    let Some(mut changes) = handle.subscribe(&quotas(), 0) else {
        return false;
    };
    loop {
        // Taken before the look, so that a later change is a reason for another look.
        let _ = changes.take();
        if !handle.list(&quotas(), None).is_empty() {
            return true;
        }
        if !changes.changed().await {
            return false;
        }
    }
}

/// The namespace in which an event can change what is used, other than by a write that was charged.
fn concerned(event: &FeedEvent) -> Option<String> {
    let (object, concerns) = match event {
        FeedEvent::Gone { object, .. } => (object.value(), true),
        FeedEvent::Put { resource, object } => {
            let object = object.value();
            let is_core = resource.group.is_empty();
            let concerns = match resource.resource.as_str() {
                "resourcequotas" => is_uncounted(&object),
                "pods" => {
                    let phase = object["status"]["phase"].as_str();
                    let changed = meta::generation(&object).is_some_and(|number| number > 1);
                    changed || matches!(phase, Some("Failed" | "Succeeded"))
                }
                "services" | "persistentvolumeclaims" => true,
                _ => false,
            };
            (object, is_core && concerns)
        }
        FeedEvent::Kinds => return None,
    };
    let namespace = meta::text(&object, "namespace");
    (concerns && !namespace.is_empty()).then(|| namespace.to_owned())
}

/// Whether the limits of a quota changed, or have no count.
fn is_uncounted(quota: &Value) -> bool {
    let status = &quota["status"];
    let hard = quota["spec"]["hard"].as_object();
    let mut names = hard.into_iter().flatten().map(|(name, _)| name);
    quota["spec"]["hard"] != status["hard"]
        || status["used"].is_null()
        || names.any(|name| status["used"].get(name).is_none())
}
