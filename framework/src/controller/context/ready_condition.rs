use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    context::Context,
    update_status::{SentStatus, status_of},
};
use crate::{
    client::{self, PatchParams},
    controller::{
        error::Error,
        state::{PublishedReady, WriteGuard},
    },
    crd::{CrdError, CustomResourceDefinition},
    resource::{ApiResource, Resource},
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
pub(crate) const RECONCILED: &str = "Reconciled";
pub(crate) const SUCCEEDED: &str = "the last reconcile succeeded";
pub(crate) const RECONCILE_FAILED: &str = "ReconcileFailed";
pub(crate) const CLEANUP_FAILED: &str = "CleanupFailed";
pub(crate) const RECONCILE_WAITING: &str = "ReconcileWaiting";
pub(crate) const CLEANUP_WAITING: &str = "CleanupWaiting";

impl ReadyCondition {
    /// The type of the condition.
    pub(crate) const TYPE: &'static str = "Ready";

    /// The condition for kind `K`. Returns `None` for a kind that the program does not define itself, that has no status
    /// subresource, or whose status has no `conditions` as a list map with the key `type`.
    pub(crate) fn of<K: Resource>(operator: &str) -> Option<Self> {
        let has_generation = conditions(K::definition()?, K::VERSION)?;
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
pub(crate) async fn set_ready<K: Resource>(
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

    let resource = ApiResource::of::<K>();
    let failed = |source| Error::serialize("update status", &resource, &cx.key, source);
    let ours = cx.last_status.get();
    let status = ours
        .map_or_else(|| status_of(&**object), Ok)
        .map_err(failed)?;
    let present = find(&status);
    let same = present.filter(|one| one["status"] == condition["status"]);
    condition["lastTransitionTime"] = match same {
        Some(one) => one["lastTransitionTime"].clone(),
        None => now().into(),
    };
    if present == Some(&condition) {
        note_published(cx, fingerprint, version);
        return Ok(());
    }

    let status = json!({"conditions": [condition]});
    let params = PatchParams::apply(ready.manager.as_str());
    let mut base = Some(version.clone());
    // Events of the object are parked until this is dropped.
    let _guard = WriteGuard::new(controller, &cx.key);
    let answer = loop {
        match cx
            .send_status(&resource, &params, &status, base.clone())
            .await
        {
            Ok(answer) => break answer,
            Err(Error::Gone { .. }) => return Ok(()),
            Err(Error::Client(error)) if is_owned_by_another(&error) => {
                if names(&error, &cx.shared.field_manager) {
                    ready.is_left.store(true, Ordering::Relaxed);
                }
                tracing::debug!("the condition belongs to another field manager: {error}");
                note_published(cx, fingerprint, version);
                return Ok(());
            }
            // Another client was faster. Then the echo cannot be told from the other change.
            Err(Error::Client(error)) if error.is_conflict() && base.is_some() => base = None,
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

fn note_published<K: Resource>(cx: &Context<K>, fingerprint: u128, version: String) {
    let key_states = &cx.shared.controller.key_states;
    key_states.with(&cx.key, |state| {
        state.ready = Some(Box::new(PublishedReady {
            fingerprint,
            version,
        }));
    });
}

/// Whether another field manager owns the condition, with another value.
fn is_owned_by_another(error: &client::Error) -> bool {
    error.is_conflict() && error.has_cause("FieldManagerConflict")
}

fn names(error: &client::Error, manager: &str) -> bool {
    let details = error.status().and_then(|status| status.details.as_ref());
    let quoted = format!("{manager:?}");
    let mut causes = details.into_iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.message.contains(&quoted))
}

/// The current time in whole seconds, as the API stores times.
fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}
