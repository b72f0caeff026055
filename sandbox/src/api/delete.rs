use std::time::Duration;

use serde_json::{Value, json};

use super::admission::{Attributes, admit_request, is_on};
use super::convert;
use super::deadline::Deadline;
use super::options::Propagation;
use super::update::{commit, is_held};
use super::{DeleteOptions, Target, strategy};
use crate::core::Core;
use crate::definitions;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::selector::Selection;
use crate::store::{Commit, CommitError, Entry, Write};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
/// The finalizer that holds a CustomResourceDefinition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The result of a deletion.
pub(crate) struct Deleted {
    /// The last state, or the state that waits for finalizers or for the end of the grace period.
    pub(crate) object: Value,
    /// Whether the object is gone.
    pub(crate) gone: bool,
    pub(crate) warnings: Vec<String>,
}

impl Deleted {
    /// The body of the response.
    pub(crate) fn answer(self, target: &Target) -> Value {
        if !self.gone || strategy::returns_deleted_object(&target.kind) {
            return self.object;
        }
        let mut details = json!({
            "name": meta::name(&self.object),
            "kind": target.kind.plural,
            "uid": meta::uid(&self.object),
        });
        if !target.kind.group.is_empty() {
            details["group"] = target.kind.group.as_str().into();
        }
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
    }
}

/// Deletes an object, or starts its deletion.
///
/// # Errors
/// 404; 403 for a namespace that cannot be deleted; 409 if a precondition fails.
pub(crate) async fn delete(
    core: &Core,
    target: &Target,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deleted, ApiError> {
    let (resource, key) = (target.storage(), target.key(name));
    let deadline = Deadline::new();
    loop {
        deadline.check()?;
        let entry = core
            .store
            .get(&resource, &key)
            .ok_or_else(|| target.not_found(name))?;
        let current = convert::read(core, target, &entry.object).await?;
        preconditions(target, name, &current, options)?;
        if is_namespace(target) && ["default", "kube-system", "kube-public"].contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden(&target.resource(), name, why));
        }
        let mut warnings = Vec::new();
        if options.admitted && is_on(core) {
            let attributes = Attributes::of_deletion(target, name, options);
            let admitted = admit_request(core, &attributes, None, Some(&current), &mut warnings);
            let admitted = admitted.await;
            admitted.map_err(|error| error.warned(&warnings))?;
        }
        let new = mark_deleted(core, target, current.clone(), options);
        let waits = meta::is_deleting(&new) && (is_held(target, &new) || grace(&new) > 0);
        if options.dry_run {
            return Ok(Deleted {
                object: if waits { new } else { current },
                gone: !waits,
                warnings,
            });
        }
        if waits && new == current {
            return Ok(Deleted {
                object: current,
                gone: false,
                warnings,
            });
        }
        let committed = if waits {
            let stored = convert::stored(core, target, new).await?;
            commit(core, target, name, &entry, stored)
        } else {
            let stored = convert::stored(core, target, current).await?;
            remove(core, target, name, &entry, stored)
        };
        match committed {
            Ok(entry) => {
                return Ok(Deleted {
                    object: convert::read(core, target, &entry.object).await?,
                    gone: !waits,
                    warnings,
                });
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::NotKept(why)) => return Err(ApiError::not_kept(&why)),
            Err(_) => return Err(target.not_found(name)),
        }
    }
}

fn remove(
    core: &Core,
    target: &Target,
    name: &str,
    entry: &Entry,
    last: Value,
) -> Result<Entry, CommitError> {
    core.store.commit(Commit {
        resource: &target.storage(),
        key: &target.key(name),
        expected: Some(entry.version),
        write: Write::Remove(last),
        namespace: None,
    })
}

fn is_namespace(target: &Target) -> bool {
    target.kind.group.is_empty() && target.kind.kind == "Namespace"
}

fn grace(object: &Value) -> i64 {
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds");
    grace.and_then(Value::as_i64).unwrap_or(0)
}

pub(super) fn preconditions(
    target: &Target,
    name: &str,
    current: &Value,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    // kube-apiserver names the kind here, not the resource.
    let kind = GroupResource {
        group: target.kind.group.clone(),
        resource: target.kind.kind.clone(),
    };
    let uid = meta::uid(current);
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted \
             and then recreated"
        );
        return Err(ApiError::conflict(&kind, name, &why));
    }
    let version = meta::resource_version(current);
    if let Some(wanted) = options
        .resource_version
        .as_deref()
        .filter(|wanted| *wanted != version)
    {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The \
             object might have been modified"
        );
        return Err(ApiError::conflict(&kind, name, &why));
    }
    Ok(())
}

/// The object with the metadata that a deletion writes into it.
fn mark_deleted(core: &Core, target: &Target, mut object: Value, options: &DeleteOptions) -> Value {
    let kind = &target.kind;
    set_finalizers(target, &mut object, options);
    let seconds = strategy::grace_period(kind, &object, options.grace_period).unwrap_or(0);
    if meta::is_deleting(&object) {
        // A request may shorten the grace period and may not extend it.
        if seconds < grace(&object) {
            let now = core
                .clock
                .timestamp_in(Duration::from_secs(seconds.unsigned_abs()));
            meta::set(&mut object, "deletionTimestamp", now);
            meta::set(&mut object, "deletionGracePeriodSeconds", seconds);
        }
        return object;
    }
    let when = core
        .clock
        .timestamp_in(Duration::from_secs(seconds.unsigned_abs()));
    meta::set(&mut object, "deletionTimestamp", when);
    meta::set(&mut object, "deletionGracePeriodSeconds", seconds);
    if let Some(generation) = meta::generation(&object).filter(|generation| *generation > 0) {
        meta::set(&mut object, "generation", generation + 1);
    }
    if is_namespace(target) {
        meta::remove(&mut object, "deletionGracePeriodSeconds");
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            status.insert("phase".into(), "Terminating".into());
        }
    }
    object
}

/// Writes into the finalizers what happens to the dependents.
fn set_finalizers(target: &Target, object: &mut Value, options: &DeleteOptions) {
    let old: Vec<String> = meta::finalizers(object)
        .into_iter()
        .map(String::from)
        .collect();
    let has = |name: &str| old.iter().any(|finalizer| finalizer == name);
    let propagation = match (options.propagation, options.orphan_dependents) {
        (Some(propagation), _) => propagation,
        (None, Some(true)) => Propagation::Orphan,
        (None, Some(false)) => Propagation::Background,
        (None, None) if has(ORPHAN) => Propagation::Orphan,
        (None, None) if has(FOREGROUND) => Propagation::Foreground,
        (None, None) => strategy::default_propagation(&target.kind),
    };
    let mut new: Vec<String> = old
        .iter()
        .filter(|name| *name != ORPHAN && *name != FOREGROUND)
        .cloned()
        .collect();
    match propagation {
        Propagation::Orphan => new.push(ORPHAN.into()),
        Propagation::Foreground => new.push(FOREGROUND.into()),
        Propagation::Background => {}
    }
    if definitions::is_definition(&target.kind)
        && !new.iter().any(|name| name == CLEANUP)
        && !meta::is_deleting(object)
    {
        new.push(CLEANUP.into());
    }
    meta::set_finalizers(object, new);
}

/// Deletes every selected object and returns their last states.
///
/// # Errors
/// The first error of a deletion. An object that is gone meanwhile is not an error.
pub(crate) async fn delete_collection(
    core: &Core,
    target: &Target,
    selection: &Selection,
    options: &DeleteOptions,
) -> Result<Vec<Deleted>, ApiError> {
    let namespace = target.namespace.as_deref();
    let listed = core
        .store
        .list_encoded(&target.storage(), namespace, None, None);
    let Some(Ok(snapshot)) = listed else {
        return Ok(Vec::new());
    };
    let mut deleted = Vec::new();
    for (key, object) in &snapshot.entries {
        if !selection.selects(object) {
            continue;
        }
        let one = Target::new(&target.kind, key.namespace());
        match delete(core, &one, key.name(), options).await {
            Ok(done) => deleted.push(done),
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}
