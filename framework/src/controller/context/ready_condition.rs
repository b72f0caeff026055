use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{
    context::Context,
    update_status::{ATTEMPTS, SentStatus, status_of},
};
use crate::{
    client::{self, PatchParams},
    controller::{
        error::Error,
        reconcilable::Reconcilable,
        state::{PublishedReady, WriteGuard},
    },
    crd::{CrdError, CustomResourceDefinition},
    resource::{ApiResource, StatusCause},
};

/// The condition `Ready`, by which the framework shows on an object whether its last reconcile succeeded.
///
/// It is applied with its own field manager and without force. A condition of this type that another field manager has set
/// stays as it is.
pub(crate) struct ReadyCondition {
    manager: String,
    /// Whether the conditions of the kind have the field `observedGeneration`.
    has_generation: bool,
    /// Set when the reconciler sets a condition of this type itself. Then the framework leaves it alone.
    is_left: AtomicBool,
}

/// What the condition shall say.
pub(crate) struct ReadyUpdate<'a> {
    pub(crate) is_true: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: &'a str,
}

/// The reasons of the condition, and its message after a success.
const RECONCILING: &str = "Reconciling";
const FIRST: &str = "the first reconcile has not ended";
pub(crate) const RECONCILED: &str = "Reconciled";
pub(crate) const SUCCEEDED: &str = "the last reconcile succeeded";
pub(crate) const RECONCILE_FAILED: &str = "ReconcileFailed";
pub(crate) const CLEANUP_FAILED: &str = "CleanupFailed";
pub(crate) const RECONCILE_WAITING: &str = "ReconcileWaiting";
pub(crate) const CLEANUP_WAITING: &str = "CleanupWaiting";

impl ReadyCondition {
    /// The type of the condition.
    pub(crate) const TYPE: &'static str = "Ready";

    /// The condition for the kind `resource`, read as `K`. Returns `None` for a kind with a Rust type that the program does not
    /// define itself, that has no status subresource, or whose status has no `conditions` as a list map with the key `type`.
    pub(crate) fn of<K: Reconcilable>(resource: &ApiResource, operator: &str) -> Option<Self> {
        let has_generation = match K::definition() {
            Some(definition) => conditions(definition, &resource.version)?,
            // The user said that it has conditions.
            None => K::IS_RUNTIME.then_some(true)?,
        };
        Some(Self {
            manager: format!("{operator}-conditions"),
            has_generation,
            is_left: AtomicBool::new(false),
        })
    }

    /// Looks at a `status` that the reconciler is about to write, and returns whether the condition still belongs to the
    /// framework. A condition that the reconciler only copied from the object is removed from `status`.
    pub(super) fn check_ownership(&self, status: &mut Value) -> bool {
        let is_copy = find(status).is_some_and(is_made_by_us);
        if find(status).is_some() && !is_copy {
            self.is_left.store(true, Ordering::Relaxed);
        }
        let is_ours = !self.is_left.load(Ordering::Relaxed);
        if is_ours
            && let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut)
        {
            conditions.retain(|one| !is_ready(one));
        }
        is_ours
    }

    /// The condition of an object whose first reconcile runs; `None` if the object's `status` has another one already.
    ///
    /// The first status that a reconciler writes has it. Without it the object would be taken for ready, because its status
    /// says nothing else. It has no `observedGeneration`, so that the reconciler's field manager owns as few fields as possible.
    pub(super) fn first(&self, status: &Value, now: &jiff::Timestamp) -> Option<Value> {
        let present = find(status);
        if present.is_some_and(|one| !is_first(one)) || self.is_left.load(Ordering::Relaxed) {
            return None;
        }
        Some(json!({
            "type": Self::TYPE,
            "status": "Unknown",
            "reason": RECONCILING,
            "message": FIRST,
            "lastTransitionTime": match present {
                Some(one) => one["lastTransitionTime"].clone(),
                None => now.to_string().into(),
            },
        }))
    }

    /// `status` with `condition`.
    pub(super) fn added(status: &Value, condition: Value) -> Value {
        let mut status = status.clone();
        match status.get_mut("conditions").and_then(Value::as_array_mut) {
            Some(conditions) => conditions.push(condition),
            None => status["conditions"] = json!([condition]),
        }
        status
    }

    /// Removes the condition from a status that the server stored, to compare the rest with what a reconciler wrote.
    pub(super) fn remove_from(stored: &mut Value, written: &Value) {
        let Some(conditions) = stored.get_mut("conditions").and_then(Value::as_array_mut) else {
            return;
        };
        conditions.retain(|one| !is_ready(one));
        if conditions.is_empty()
            && written.get("conditions").is_none()
            && let Some(status) = stored.as_object_mut()
        {
            status.remove("conditions");
        }
    }
}

/// Whether the conditions have `observedGeneration`. Returns `None` if the kind has no conditions that can be set.
fn conditions(
    definition: Result<CustomResourceDefinition, CrdError>,
    version: &str,
) -> Option<bool> {
    // Installing the kind reports an invalid definition.
    let definition = serde_json::to_value(definition.ok()?).ok()?;
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let version = versions.iter().find(|one| one["name"] == version)?;
    version.pointer("/subresources/status")?;
    let path = "/schema/openAPIV3Schema/properties/status/properties/conditions";
    let list = version.pointer(path)?;
    let is_shared = list["x-kubernetes-list-type"] == "map"
        && list["x-kubernetes-list-map-keys"] == json!(["type"]);
    let fields = list.pointer("/items/properties")?.as_object()?;
    let ours = ["type", "status", "reason", "message", "lastTransitionTime"];
    let required = list.pointer("/items/required").and_then(Value::as_array);
    let fits = ours.iter().all(|field| fields.contains_key(*field))
        && required
            .into_iter()
            .flatten()
            .all(|field| ours.iter().any(|one| field == one));
    (is_shared && fits).then(|| fields.contains_key("observedGeneration"))
}

fn is_ready(condition: &Value) -> bool {
    condition["type"] == ReadyCondition::TYPE
}

/// Whether the condition has the texts of the framework.
fn is_made_by_us(ready: &Value) -> bool {
    let says = |field: &str, text| ready[field] == text;
    says("reason", RECONCILE_FAILED)
        || says("reason", CLEANUP_FAILED)
        || says("reason", RECONCILE_WAITING)
        || says("reason", CLEANUP_WAITING)
        || says("reason", RECONCILED) && says("message", SUCCEEDED)
        || is_first(ready)
}

/// Whether the condition is what [`ReadyCondition::first`] makes.
fn is_first(ready: &Value) -> bool {
    ready["reason"] == RECONCILING && ready["message"] == FIRST
}

fn find(status: &Value) -> Option<&Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|one| is_ready(one))
}

/// Writes the condition on the reconciled object, if the framework sets it for this kind.
///
/// Nothing is sent if the condition says so already. The time of its last transition changes only with its status. The event
/// of the write does not lead to a reconcile.
pub(crate) async fn set_ready<K: Reconcilable>(
    cx: &Context<K>,
    update: ReadyUpdate<'_>,
) -> Result<(), Error> {
    let controller = &cx.shared.controller;
    let (Some(ready), Some(object)) = (&cx.shared.ready, &cx.object) else {
        return Ok(());
    };
    if ready.is_left.load(Ordering::Relaxed) {
        return Ok(());
    }
    let generation = object
        .metadata()
        .generation
        .filter(|_| ready.has_generation);
    let mut condition = json!({
        "type": ReadyCondition::TYPE,
        "status": if update.is_true { "True" } else { "False" },
        "reason": update.reason,
        "message": update.message,
    });
    if let Some(generation) = generation {
        condition["observedGeneration"] = generation.into();
    }
    let fingerprint = cx.fingerprint(&condition);
    let seen = object.resource_version().unwrap_or_default();
    let newest = controller.key_states.with(&cx.key, |state| {
        let newest = state.own_writes.as_ref().map(|ours| ours.newest(seen));
        let version = newest.unwrap_or_else(|| seen.to_owned());
        let published = PublishedReady {
            fingerprint,
            version,
        };
        (state.ready.as_deref() != Some(&published)).then_some(published.version)
    });
    let version = match newest {
        Some(Some(version)) => version,
        Some(None) => return Ok(()),
        None => seen.to_owned(),
    };

    let resource = cx.resource();
    let failed = |source| Error::serialize("update status", resource, &cx.key, source);
    let ours = cx.last_status.get();
    let status = ours
        .map_or_else(|| status_of(&**object), Ok)
        .map_err(failed)?;
    let present = find(&status);
    let same = present.filter(|one| one["status"] == condition["status"]);
    condition["lastTransitionTime"] = match same {
        Some(one) => one["lastTransitionTime"].clone(),
        None => cx.shared.client.clock().now_in_seconds().to_string().into(),
    };
    if present == Some(&condition) {
        note_published(cx, fingerprint, version);
        return Ok(());
    }

    let status = json!({"conditions": [condition]});
    let mut params = PatchParams::apply(ready.manager.as_str());
    // The field manager of the reconciler's status has made this one.
    params.force = present.is_some_and(is_first);
    let mut base = Some(version.clone());
    let mut attempt = 1;
    // Events of the object are parked until this is dropped.
    let _guard = WriteGuard::new(controller, &cx.key);
    let answer = loop {
        match cx
            .send_status(resource, &params, &status, base.clone())
            .await
        {
            Ok(answer) => break answer,
            Err(Error::Gone { .. }) => return Ok(()),
            Err(Error::Client(error)) if error.is_conflict() && attempt < ATTEMPTS => {
                attempt += 1;
                // Another client was faster. Then the echo cannot be told from the other change.
                base = None;
                let owners = Owners::of(&error, &cx.shared.field_manager);
                if owners != Owners::Nobody || params.force {
                    // The status with the first condition may have been written last, and its manager is not that of the condition.
                    let (newest, version) = cx.read_status().await?;
                    params.force =
                        owners != Owners::Others && find(&newest).is_some_and(is_made_by_us);
                    base = params.force.then_some(version);
                }
                if owners != Owners::Nobody && !params.force {
                    if owners == Owners::Reconciler {
                        ready.is_left.store(true, Ordering::Relaxed);
                    }
                    tracing::debug!("the condition belongs to another field manager: {error}");
                    note_published(cx, fingerprint, version);
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
    };
    let stored = status_of(&answer).map_err(failed)?;
    cx.last_status.set(stored);
    if let Some(version) = answer.resource_version() {
        cx.note_status(SentStatus {
            base,
            version: version.to_owned(),
        });
        note_published(cx, fingerprint, version.to_owned());
    }
    Ok(())
}

fn note_published<K: Reconcilable>(cx: &Context<K>, fingerprint: u128, version: String) {
    let key_states = &cx.shared.controller.key_states;
    key_states.with(&cx.key, |state| {
        state.ready = Some(Box::new(PublishedReady {
            fingerprint,
            version,
        }));
    });
}

/// The field managers that own fields of the condition with other values, by the error of an apply.
#[derive(Clone, Copy, PartialEq)]
enum Owners {
    Nobody,
    /// Only the field manager with which the reconciler writes the status.
    Reconciler,
    Others,
}

impl Owners {
    fn of(error: &client::Error, reconciler: &str) -> Self {
        let details = error.status().and_then(|status| status.details.as_ref());
        let causes = details.into_iter().flat_map(|details| &details.causes);
        let mut owned = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        let quoted = format!("{reconciler:?}");
        let Some(first) = owned.next() else {
            return Self::Nobody;
        };
        let is_reconcilers = |cause: &StatusCause| cause.message.contains(&quoted);
        match is_reconcilers(first) && owned.all(is_reconcilers) {
            true => Self::Reconciler,
            false => Self::Others,
        }
    }
}
