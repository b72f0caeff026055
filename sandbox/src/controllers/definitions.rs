use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::api::{CLEANUP, DeleteOptions, Handle};
use crate::builtin;
use crate::core::Core;
use crate::definitions::{conditions, defined_resource, definitions, items, kinds, text};
use crate::meta;
use crate::registry::{GroupResource, Registry, ServedKind};
use crate::store::BucketId;

/// The pause before the next look at objects that finalizers hold.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// The served state of one definition.
struct Served {
    uid: String,
    generation: Option<i64>,
    resource: GroupResource,
    bucket: BucketId,
    kinds: Vec<Arc<ServedKind>>,
}

/// Serves what the definitions define now. The returned task follows their changes, and writes the outcome into their status.
pub(crate) fn start(core: Arc<Core>) -> impl Future<Output = ()> {
    let mut served = BTreeMap::new();
    core.stack.run(|| {
        let all = Handle::new(&core, "kube-apiserver").list(&definitions(), None);
        serve(&core, &all, &mut served);
    });
    run(core, served)
}

async fn run(core: Arc<Core>, mut served: BTreeMap<String, Served>) {
    let handle = Handle::new(&core, "kube-apiserver");
    let Some(mut changes) = handle.subscribe(&definitions(), 0) else {
        return;
    };
    loop {
        // A change is only a reason to look again, so a compacted change is as good as any. It is taken before the
        // look, so that a later change is a reason for another look.
        let _ = changes.take();
        let all = handle.list(&definitions(), None);
        serve(&core, &all, &mut served);
        let mut waiting = false;
        for definition in &all {
            if meta::is_deleting(definition) {
                waiting |= !finalize(&handle, definition);
            } else {
                accept(&handle, definition, &all);
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

/// Serves the definitions whose names are free, and no others.
fn serve(core: &Arc<Core>, all: &[Arc<Value>], served: &mut BTreeMap<String, Served>) {
    let mut changed = false;
    served.retain(|name, old| {
        let current = all.iter().find(|definition| meta::name(definition) == name);
        let stays = current.is_some_and(|definition| meta::uid(definition) == old.uid);
        if !stays {
            core.store.close(&old.resource, old.bucket);
            changed = true;
        }
        stays
    });
    for definition in all {
        let name = meta::name(definition);
        let generation = meta::generation(definition);
        let known = served.get(name);
        if known.is_some_and(|known| known.generation == generation)
            || conflict(definition, all).is_some()
        {
            continue;
        }
        let resource = defined_resource(definition);
        let new = Served {
            uid: meta::uid(definition).into(),
            generation,
            bucket: core.store.open(&resource),
            resource,
            kinds: kinds(definition),
        };
        if known.is_some() && !meta::is_deleting(definition) {
            // As on a real server, a watch ends when the schema changes.
            core.store.end_watches(&new.resource);
        }
        served.insert(name.into(), new);
        changed = true;
    }
    if changed {
        let custom = served
            .values()
            .flat_map(|served| served.kinds.iter().cloned());
        core.serve(Registry::new(
            builtin::kinds().into_iter().chain(custom).collect(),
        ));
    }
}

/// The name by which a definition conflicts with an earlier one.
fn conflict(definition: &Value, all: &[Arc<Value>]) -> Option<(&'static str, String)> {
    let others = all.iter().filter(|other| {
        meta::uid(other) != meta::uid(definition)
            && text(other, "/spec/group") == text(definition, "/spec/group")
            && conditions::is_true(other, "NamesAccepted")
    });
    let mut resources: Vec<&str> = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    for other in others {
        resources.extend(
            ["plural", "singular"]
                .map(|field| text(other, &format!("/status/acceptedNames/{field}"))),
        );
        resources.extend(
            items(other, "/status/acceptedNames/shortNames")
                .iter()
                .filter_map(Value::as_str),
        );
        kinds.extend(
            ["kind", "listKind"]
                .map(|field| text(other, &format!("/status/acceptedNames/{field}"))),
        );
    }
    let name = |field: &str| text(definition, &format!("/spec/names/{field}"));
    let short = items(definition, "/spec/names/shortNames")
        .iter()
        .filter_map(Value::as_str);
    let mut wanted: Vec<(&'static str, &str)> = vec![
        ("PluralConflict", name("plural")),
        ("SingularConflict", name("singular")),
    ];
    wanted.extend(short.map(|name| ("ShortNamesConflict", name)));
    let resource = wanted
        .into_iter()
        .find(|(_, name)| resources.contains(name));
    let kind = [
        ("KindConflict", name("kind")),
        ("ListKindConflict", name("listKind")),
    ];
    let found = resource.or_else(|| kind.into_iter().find(|(_, name)| kinds.contains(name)))?;
    Some((found.0, found.1.to_owned()))
}

/// Writes into the status whether the names are accepted and the kind is served.
fn accept(handle: &Handle, definition: &Value, all: &[Arc<Value>]) {
    let conflict = conflict(definition, all);
    let now = handle.core().clock.timestamp();
    // A definition that is gone meanwhile needs no status.
    let _ = handle.update(
        &definitions(),
        None,
        meta::name(definition),
        "status",
        |definition| match &conflict {
            None => {
                let message = "no conflicts found";
                conditions::set(
                    definition,
                    "NamesAccepted",
                    true,
                    "NoConflicts",
                    message,
                    &now,
                );
                let message = "the initial names have been accepted";
                conditions::set(
                    definition,
                    "Established",
                    true,
                    "InitialNamesAccepted",
                    message,
                    &now,
                );
                let names = definition
                    .pointer("/spec/names")
                    .cloned()
                    .unwrap_or_default();
                if let Some(status) = definition.get_mut("status").and_then(Value::as_object_mut) {
                    status.insert("acceptedNames".into(), names);
                }
            }
            Some((reason, name)) => {
                let message = format!("{name:?} is already in use");
                conditions::set(definition, "NamesAccepted", false, reason, &message, &now);
                if !conditions::is_true(definition, "Established") {
                    let message = "not all names are accepted";
                    conditions::set(
                        definition,
                        "Established",
                        false,
                        "NotAccepted",
                        message,
                        &now,
                    );
                }
            }
        },
    );
}

/// Deletes the objects of a definition that is being deleted, and removes the finalizer of the definition if there are
/// none left.
fn finalize(handle: &Handle, definition: &Value) -> bool {
    if !meta::finalizers(definition).contains(&CLEANUP) {
        return true;
    }
    let resource = defined_resource(definition);
    let mut left = 0;
    for object in handle.list(&resource, None) {
        let namespace = Some(meta::text(&object, "namespace"));
        let deleted = handle.delete(
            &resource,
            namespace,
            meta::name(&object),
            &DeleteOptions::default(),
        );
        match deleted {
            Ok(deleted) if deleted.gone => {}
            Err(error) if error.code == 404 => {}
            _ => left += 1,
        }
    }
    let now = handle.core().clock.timestamp();
    let name = meta::name(definition);
    if left > 0 {
        let message = format!("CustomResource deletion is in progress: {left} left");
        let _ = handle.update(&definitions(), None, name, "status", |definition| {
            conditions::set(
                definition,
                "Terminating",
                true,
                "InstanceDeletionInProgress",
                &message,
                &now,
            );
        });
        return false;
    }
    let done = handle.update(&definitions(), None, name, "", |definition| {
        let finalizers = meta::finalizers(definition)
            .into_iter()
            .filter(|finalizer| *finalizer != CLEANUP);
        let finalizers = finalizers.map(String::from).collect();
        meta::set_finalizers(definition, finalizers);
    });
    done.is_ok()
}
