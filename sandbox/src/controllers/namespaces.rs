//! Deletes the content of namespaces that are being deleted, and then the namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{DeleteOptions, Handle, Propagation};
use crate::core::Core;
use crate::meta;
use crate::registry::{GroupResource, ServedKind};

fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

/// The pause before the next look at a namespace whose content is held by finalizers.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Empties namespaces that are being deleted, and lets them go.
pub(crate) async fn finalize(core: Arc<Core>) {
    let handle = Handle::new(&core, "namespace-controller");
    let Some(mut changes) = handle.subscribe(&namespaces(), 0) else {
        return;
    };
    loop {
        // A change is only a reason to look again, so a compacted change is as good as any. It is taken before the
        // look, so that a later change is a reason for another look.
        let _ = changes.take();
        let mut waiting = false;
        for namespace in handle.list(&namespaces(), None) {
            if meta::is_deleting(&namespace) {
                waiting |= !empty(&handle, &namespace);
            }
        }
        let changed = changes.changed();
        if waiting {
            let _ = tokio::time::timeout(RETRY_DELAY, changed).await;
        } else if !changed.await {
            return;
        }
    }
}

/// Deletes the content of a namespace. If nothing is left, removes the finalizer of the namespace. Returns whether it
/// is gone.
fn empty(handle: &Handle, namespace: &Value) -> bool {
    let name = meta::name(namespace);
    let mut left = Left::default();
    let registry = handle.core().registry();
    let stored = registry.kinds().iter();
    let stored = stored.filter(|kind| kind.namespaced && kind.storage);
    let (pods, others): (Vec<_>, Vec<_>) =
        stored.partition(|kind| kind.group.is_empty() && kind.plural == "pods");
    for kind in pods {
        left.clear(handle, namespace, kind, longest_end(handle, namespace));
    }
    // Other objects may hold what the Pods still need.
    let pods_are_gone = left.objects.is_empty();
    if pods_are_gone {
        for kind in others {
            left.clear(handle, namespace, kind, Duration::ZERO);
        }
    }
    report(handle, namespace, &left, pods_are_gone);
    if !left.objects.is_empty() || !left.errors.is_empty() {
        return false;
    }
    let done = handle.update(&namespaces(), None, name, "finalize", |namespace| {
        let finalizers = namespace
            .pointer_mut("/spec/finalizers")
            .and_then(Value::as_array_mut);
        if let Some(finalizers) = finalizers {
            finalizers.retain(|finalizer| finalizer != "kubernetes");
        }
    });
    done.is_ok_and(|namespace| meta::finalizers(&namespace).is_empty())
}

/// What is left in a namespace after its deletion.
#[derive(Default)]
struct Left {
    /// The number of objects of each resource.
    objects: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    finalizers: BTreeMap<String, usize>,
    errors: Vec<String>,
}

impl Left {
    /// Deletes all objects of a kind. They may take as long as `grace`.
    fn clear(&mut self, handle: &Handle, namespace: &Value, kind: &ServedKind, grace: Duration) {
        let name = meta::name(namespace);
        let options = DeleteOptions {
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        let resource = kind.group_resource();
        for object in handle.list(&resource, Some(name)) {
            let deleted = handle.delete(&resource, Some(name), meta::name(&object), &options);
            if let Err(error) = deleted
                && error.code != 404
            {
                self.errors.push(error.message);
                return;
            }
        }
        let rest = handle.list(&resource, Some(name));
        if rest.is_empty() {
            return;
        }
        let GroupResource { group, resource } = resource;
        self.objects
            .insert(format!("{resource}.{group}"), rest.len());
        let mut held = false;
        for object in &rest {
            for finalizer in meta::finalizers(object) {
                held = true;
                *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
        if !held && grace.is_zero() {
            let version = &kind.version;
            self.errors.push(format!(
                "unexpected items still remain in namespace: {name} for gvr: {group}/{version}, Resource={resource}"
            ));
        }
    }
}

/// How long the Pods of a namespace may still take to end; zero if that time is over.
fn longest_end(handle: &Handle, namespace: &Value) -> Duration {
    let pods = handle.list(&GroupResource::new("", "pods"), Some(meta::name(namespace)));
    let live = pods.iter().filter(|pod| {
        let phase = pod.pointer("/status/phase").and_then(Value::as_str);
        !matches!(phase, Some("Succeeded" | "Failed"))
    });
    let grace = live.filter_map(|pod| {
        let seconds = pod.pointer("/spec/terminationGracePeriodSeconds")?;
        seconds.as_u64().map(Duration::from_secs)
    });
    let grace = grace.max().unwrap_or_default();
    let deleted: Option<Timestamp> = meta::text(namespace, "deletionTimestamp").parse().ok();
    let now = handle.core().clock.now();
    let age = deleted.and_then(|deleted| Duration::try_from(now.duration_since(deleted)).ok());
    match age.unwrap_or_default() >= grace {
        true => Duration::ZERO,
        false => grace,
    }
}

/// Writes what is left into the conditions of a namespace. The content is counted only once all Pods are gone, as by a real controller.
fn report(handle: &Handle, namespace: &Value, left: &Left, counted: bool) {
    let counts = |counts: &BTreeMap<String, usize>, text: &str| {
        let counts = counts.iter();
        let texts: Vec<String> = counts
            .map(|(name, count)| format!("{name} {text} {count} resource instances"))
            .collect();
        texts.join(", ")
    };
    let mut errors = left.errors.clone();
    errors.sort();
    let failure = format!(
        "Failed to delete all resource types, {} remaining: {}",
        errors.len(),
        errors.join(", ")
    );
    let rest = format!(
        "Some resources are remaining: {}",
        counts(&left.objects, "has")
    );
    let held = format!(
        "Some content in the namespace has finalizers remaining: {}",
        counts(&left.finalizers, "in")
    );
    // The type; whether it is true, with reason and message; reason and message if it is false.
    let conditions = [
        (
            "NamespaceDeletionDiscoveryFailure",
            None,
            (
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            (
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
        ),
        (
            "NamespaceDeletionContentFailure",
            (!errors.is_empty()).then_some(("ContentDeletionFailed", &*failure)),
            (
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ),
        (
            "NamespaceContentRemaining",
            (counted && !left.objects.is_empty()).then_some(("SomeResourcesRemain", &*rest)),
            ("ContentRemoved", "All content successfully removed"),
        ),
        (
            "NamespaceFinalizersRemaining",
            (counted && !left.finalizers.is_empty()).then_some(("SomeFinalizersRemain", &*held)),
            (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ),
    ];
    let now = handle.core().clock.timestamp();
    let written = handle.update(
        &namespaces(),
        None,
        meta::name(namespace),
        "status",
        |namespace| {
            for (kind, wrong, right) in &conditions {
                let (reason, message) = wrong.unwrap_or(*right);
                let status = if wrong.is_some() { "True" } else { "False" };
                let condition = json!({
                    "type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
                });
                set_condition(namespace, condition);
            }
        },
    );
    if let Err(error) = written {
        tracing::debug!(name = meta::name(namespace), %error, "cannot write the conditions of a namespace");
    }
}

/// Sets a condition by its type. It keeps its time as long as its status does not change.
fn set_condition(namespace: &mut Value, mut condition: Value) {
    let conditions = &mut namespace["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let mut known = conditions.iter_mut();
    match known.find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sandbox;

    fn condition<'a>(namespace: &'a Value, kind: &str) -> (&'a str, &'a str) {
        let conditions = namespace["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
        let text = |field: &str| found[field].as_str().unwrap();
        (text("status"), text("message"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_tells_what_it_waits_for() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let created = handle.create(&namespaces(), json!({"metadata": {"name": "shop"}}));
        created.unwrap();
        let maps = GroupResource::new("", "configmaps");
        for (name, finalizers) in [
            ("a", json!(["example.com/x"])),
            ("b", json!(["example.com/x", "example.com/y"])),
            ("c", json!([])),
        ] {
            let map =
                json!({"metadata": {"name": name, "namespace": "shop", "finalizers": finalizers}});
            handle.create(&maps, map).unwrap();
        }
        let options = DeleteOptions::default();
        handle
            .delete(&namespaces(), None, "shop", &options)
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let waiting = handle.get(&namespaces(), None, "shop").unwrap();
        let (failure, content) = (
            "NamespaceDeletionContentFailure",
            "NamespaceContentRemaining",
        );
        assert_eq!(condition(&waiting, failure).0, "False");
        assert_eq!(
            condition(&waiting, content),
            (
                "True",
                "Some resources are remaining: configmaps. has 2 resource instances"
            )
        );
        assert_eq!(
            condition(&waiting, "NamespaceFinalizersRemaining"),
            (
                "True",
                "Some content in the namespace has finalizers remaining: example.com/x in 2 resource instances, \
                 example.com/y in 1 resource instances"
            )
        );
        for name in ["a", "b"] {
            let freed = handle.update(&maps, Some("shop"), name, "", |map| {
                meta::remove(map, "finalizers")
            });
            freed.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(handle.get(&namespaces(), None, "shop").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_keeps_everything_as_long_as_it_has_pods() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let created = handle.create(&namespaces(), json!({"metadata": {"name": "shop"}}));
        created.unwrap();
        let pod = json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
        });
        let pods = GroupResource::new("", "pods");
        handle.create(&pods, pod).unwrap();
        let maps = GroupResource::new("", "configmaps");
        let map = json!({"metadata": {"name": "a", "namespace": "shop"}});
        handle.create(&maps, map).unwrap();
        let options = DeleteOptions::default();
        handle
            .delete(&namespaces(), None, "shop", &options)
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(handle.get(&maps, Some("shop"), "a").is_some());
        // Nobody ends the Pod, and its time is over.
        tokio::time::sleep(Duration::from_secs(40)).await;
        let waiting = handle.get(&namespaces(), None, "shop").unwrap();
        assert_eq!(
            condition(&waiting, "NamespaceDeletionContentFailure").1,
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods"
        );
        let now = DeleteOptions {
            grace_period: Some(0),
            ..DeleteOptions::default()
        };
        handle.delete(&pods, Some("shop"), "web", &now).unwrap();
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(handle.get(&maps, Some("shop"), "a").is_none());
        assert!(handle.get(&namespaces(), None, "shop").is_none());
    }
}
