//! Deletes the content of namespaces that are being deleted, and then the namespaces.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::api::{DeleteOptions, Handle, Propagation};
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

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
