//! The life of namespaces: those every cluster has, and the end of those that are deleted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{ApiError, DeleteOptions, Handle, Propagation, meta};
use crate::core::Core;
use crate::registry::GroupResource;

const SYSTEM: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

/// Creates the namespaces that are always there.
///
/// # Errors
/// None in a new sandbox.
pub(crate) fn create_system(core: &Arc<Core>) -> Result<(), ApiError> {
    let handle = Handle::new(core, "kube-apiserver");
    for name in SYSTEM {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        handle.create(&namespaces(), namespace)?;
    }
    Ok(())
}

/// How long to wait before looking again at a namespace whose content is held by finalizers.
const AGAIN: Duration = Duration::from_secs(5);

/// Empties namespaces that are being deleted, and lets them go.
pub(crate) async fn finalize(core: Arc<Core>) {
    let handle = Handle::new(&core, "namespace-controller");
    let Some(mut changes) = handle.subscribe(&namespaces(), 0) else {
        return;
    };
    loop {
        // Changes are only a reason to look; one that was compacted away is as good as any. Taken before looking, so that what
        // changes meanwhile is a reason to look again.
        let _ = changes.take();
        let mut waiting = false;
        for namespace in handle.list(&namespaces(), None) {
            if meta::is_deleting(&namespace) {
                waiting |= !empty(&handle, &namespace);
            }
        }
        let changed = changes.changed();
        if waiting {
            let _ = tokio::time::timeout(AGAIN, changed).await;
        } else if !changed.await {
            return;
        }
    }
}

/// Deletes what is in a namespace, and lets the namespace go if there was nothing.
fn empty(handle: &Handle, namespace: &Value) -> bool {
    let name = meta::name(namespace);
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    let registry = handle.core().registry();
    let mut left = 0;
    let stored = registry
        .kinds()
        .iter()
        .filter(|kind| kind.namespaced && kind.storage);
    for resource in stored.map(|kind| kind.group_resource()) {
        for object in handle.list(&resource, Some(name)) {
            let deleted = handle.delete(&resource, Some(name), meta::name(&object), &options);
            match deleted {
                Ok(deleted) if deleted.gone => {}
                Err(error) if error.code == 404 => {}
                _ => left += 1,
            }
        }
    }
    if left > 0 {
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
