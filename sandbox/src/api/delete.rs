use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
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

/// How the names of the system's priority classes begin. Nobody else can create such a name.
const SYSTEM: &str = "system-";

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
/// 404; 403 for a namespace or a priority class that cannot be deleted; 409 if a precondition fails.
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
        if is_priority_class(target) && name.starts_with(SYSTEM) {
            let why = "this is a system priority class and cannot be deleted";
            return Err(ApiError::forbidden(&target.resource(), name, why));
        }
        let mut warnings = Vec::new();
        if options.admitted && is_on(core) {
            let attributes = Attributes::of_deletion(target, name, options);
            let admitted = admit_request(core, &attributes, None, Some(&current), &mut warnings);
            let admitted = admitted.await;
            admitted.map_err(|error| error.warned(&warnings))?;
        }
        let step = plan(core, target, &current, options);
        let gone = matches!(step, Step::End(_) | Step::Go);
        if options.dry_run {
            let object = match step {
                Step::Wait(new) | Step::End(new) => new,
                Step::Stay | Step::Go => current,
            };
            return Ok(Deleted {
                object,
                gone,
                warnings,
            });
        }
        let committed = match step {
            Step::Wait(new) if new != current => {
                let stored = convert::stored(core, target, new).await?;
                commit(core, target, name, &entry, stored)
            }
            Step::Stay | Step::Wait(_) => {
                return Ok(Deleted {
                    object: current,
                    gone,
                    warnings,
                });
            }
            Step::End(new) => {
                let stored = convert::stored(core, target, new).await?;
                end(core, target, name, &entry, stored)
            }
            Step::Go => {
                let stored = convert::stored(core, target, current).await?;
                remove(core, target, name, &entry, stored)
            }
        };
        match committed {
            Ok(entry) => {
                return Ok(Deleted {
                    object: convert::read(core, target, &entry.object).await?,
                    gone,
                    warnings,
                });
            }
            Err(CommitError::Conflict) => {}
            Err(CommitError::NotKept(why)) => return Err(ApiError::not_kept(&why)),
            Err(_) => return Err(target.not_found(name)),
        }
    }
}

/// Writes the last state of an object, so that watches see that it is being deleted, and removes it.
fn end(
    core: &Core,
    target: &Target,
    name: &str,
    entry: &Entry,
    last: Value,
) -> Result<Entry, CommitError> {
    let marked = core.store.commit(Commit {
        resource: &target.storage(),
        key: &target.key(name),
        expected: Some(entry.version),
        write: Write::Put(last),
        namespace: None,
    })?;
    let last = Value::clone(&marked.object);
    remove(core, target, name, &marked, last)
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

fn is_priority_class(target: &Target) -> bool {
    target.kind.group == "scheduling.k8s.io" && target.kind.kind == "PriorityClass"
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

/// What a deletion does with an object.
enum Step {
    /// Its deletion has begun before, and this request changes nothing.
    Stay,
    /// It gets this state and waits for its finalizers or for the end of its grace period.
    Wait(Value),
    /// It gets this state, then it is removed.
    End(Value),
    /// It is removed as it is.
    Go,
}

/// What a deletion does. Only Pods have a grace period.
fn plan(core: &Core, target: &Target, current: &Value, options: &DeleteOptions) -> Step {
    let mut new = current.clone();
    let is_deleting = meta::is_deleting(current);
    let waits = match strategy::grace_period(&target.kind, current, options.grace_period) {
        Some(_) if is_deleting && grace(current) > 0 => {
            // A request may shorten the grace period and may not extend it.
            let seconds = options.grace_period.map(|given| match given {
                negative if negative < 0 => 1,
                seconds => seconds,
            });
            let Some(seconds) = seconds.filter(|seconds| *seconds < grace(current)) else {
                return Step::Stay;
            };
            shorten(core, &mut new, seconds);
            Some(seconds > 0)
        }
        Some(seconds) if !is_deleting => {
            mark(core, target, &mut new, seconds);
            Some(seconds > 0)
        }
        _ => None,
    };
    set_finalizers(target, &mut new, options);
    match waits {
        Some(waits) if waits || is_held(target, &new) => Step::Wait(new),
        Some(_) => Step::End(new),
        None if !is_held(target, &new) => Step::Go,
        None => {
            if !is_deleting {
                mark(core, target, &mut new, 0);
            }
            Step::Wait(new)
        }
    }
}

/// Writes into an object that it is being deleted.
fn mark(core: &Core, target: &Target, object: &mut Value, seconds: i64) {
    let after = Duration::from_secs(seconds.unsigned_abs());
    let when = core.clock.timestamp_in(after);
    meta::set(object, "deletionTimestamp", when);
    meta::set(object, "deletionGracePeriodSeconds", seconds);
    if let Some(generation) = meta::generation(object).filter(|generation| *generation > 0) {
        meta::set(object, "generation", generation + 1);
    }
    if is_namespace(target) {
        meta::remove(object, "deletionGracePeriodSeconds");
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            status.insert("phase".into(), "Terminating".into());
        }
    }
}

/// Shortens the grace period of an object that is being deleted. The shorter one begins when the deletion began.
fn shorten(core: &Core, object: &mut Value, seconds: i64) {
    let until: Option<Timestamp> = meta::text(object, "deletionTimestamp").parse().ok();
    let rest = until.map_or(SignedDuration::ZERO, |until| {
        until.duration_since(core.clock.now())
    });
    let less = grace(object).saturating_sub(seconds);
    let rest = rest.saturating_sub(SignedDuration::from_secs(less));
    let (rest, seconds) = match Duration::try_from(rest) {
        Ok(rest) if !rest.is_zero() => (rest, seconds),
        // It is over. The object still ends by itself, unless the request forbids that.
        _ => (Duration::ZERO, seconds.min(1)),
    };
    let when = core.clock.timestamp_in(rest);
    meta::set(object, "deletionTimestamp", when);
    meta::set(object, "deletionGracePeriodSeconds", seconds);
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
    limit: Option<usize>,
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
    let selected = snapshot.entries.iter();
    let selected = selected.filter(|(_, object)| selection.selects(object));
    for (key, _) in selected.take(limit.unwrap_or(usize::MAX)) {
        let one = Target::new(&target.kind, key.namespace());
        match delete(core, &one, key.name(), options).await {
            Ok(done) => deleted.push(done),
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}
