use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Context, Error,
    hub::WriteGuard,
    update_status::{SentStatus, status_of},
};
use crate::{
    client::{self, PatchParams},
    crd::{CrdError, CustomResourceDefinition},
    resource::{ApiResource, Resource},
};

/// The condition by which objects of a kind tell whether their last reconcile succeeded.
///
/// It is applied with a field manager of its own and without force: a condition of this type that anybody else has set is
/// theirs.
pub(super) struct ReadyCondition {
    manager: String,
    /// Whether the conditions of the kind have the field.
    has_generation: bool,
    /// The reconciler sets a condition of this type itself.
    is_left: AtomicBool,
}

/// What the condition of one object says, and which version of the object was seen to say so, or was seen to be left to
/// somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidReady {
    said: u128,
    version: String,
}

/// What the condition is to say.
pub(super) struct NewReady<'a> {
    pub(super) is_true: bool,
    pub(super) reason: &'static str,
    pub(super) message: &'a str,
}

/// The reasons, and the message of a success.
pub(super) const RECONCILED: &str = "Reconciled";
pub(super) const SUCCEEDED: &str = "the last reconcile succeeded";
pub(super) const RECONCILE_FAILED: &str = "ReconcileFailed";
pub(super) const CLEANUP_FAILED: &str = "CleanupFailed";

impl ReadyCondition {
    /// Its type.
    pub(super) const TYPE: &'static str = "Ready";

    /// That of kind `K`; `None` for a kind that is not the program's own, has no status subresource, or whose status has no
    /// `conditions` that field managers share by their type.
    pub(super) fn of<K: Resource>(operator: &str) -> Option<Self> {
        let has_generation = conditions(K::definition()?, K::VERSION)?;
        Some(Self {
            manager: format!("{operator}-conditions"),
            has_generation,
            is_left: AtomicBool::new(false),
        })
    }

    /// Notes that the reconciler is to write `status`: whether the condition is the framework's still. One that the
    /// reconciler only copied from the object is taken out of `status`.
    pub(super) fn is_ours_beside(&self, status: &mut Value) -> bool {
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

    /// Takes the condition out of a status that the server keeps, so that the rest can be compared with what a reconciler
    /// wrote.
    pub(super) fn take_out(kept: &mut Value, written: &Value) {
        let Some(conditions) = kept.get_mut("conditions").and_then(Value::as_array_mut) else {
            return;
        };
        conditions.retain(|one| !is_ready(one));
        if conditions.is_empty()
            && written.get("conditions").is_none()
            && let Some(status) = kept.as_object_mut()
        {
            status.remove("conditions");
        }
    }
}

/// Whether the conditions have `observedGeneration`; `None` if there are no conditions that can be set.
fn conditions(
    definition: Result<CustomResourceDefinition, CrdError>,
    version: &str,
) -> Option<bool> {
    // One that is wrong is told elsewhere.
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

/// Whether the condition has the words of the framework.
fn is_made_by_us(ready: &Value) -> bool {
    let says = |field: &str, text| ready[field] == text;
    says("reason", RECONCILE_FAILED)
        || says("reason", CLEANUP_FAILED)
        || says("reason", RECONCILED) && says("message", SUCCEEDED)
}

fn find(status: &Value) -> Option<&Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|one| is_ready(one))
}

impl<K: Resource> Context<K> {
    /// Makes the condition of the reconciled object say so, if the kind has one that is ours. Nothing is sent if it says so
    /// already; the time of its last transition changes only with its status. The event by which the write comes back does
    /// not lead to a reconcile.
    pub(super) async fn set_ready(&self, new: NewReady<'_>) -> Result<(), Error> {
        let hub = &self.shared.hub;
        let (Some(ready), Some(object)) = (&hub.publishing.ready, &self.object) else {
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
            "status": if new.is_true { "True" } else { "False" },
            "reason": new.reason,
            "message": new.message,
        });
        if let Some(generation) = generation {
            condition["observedGeneration"] = generation.into();
        }
        let said = self.fingerprint(&condition);
        let seen = object.resource_version().unwrap_or_default();
        let newest = hub.states.with(&self.key, |state| {
            let newest = state.own_writes.as_ref().map(|ours| ours.newest(seen));
            let version = newest.unwrap_or_else(|| seen.to_owned());
            let said = SaidReady { said, version };
            (state.ready.as_deref() != Some(&said)).then_some(said.version)
        });
        let version = match newest {
            Some(Some(version)) => version,
            Some(None) => return Ok(()),
            None => seen.to_owned(),
        };

        let resource = ApiResource::of::<K>();
        let failed = |source| Error::serialize("update status", &resource, &self.key, source);
        let ours = self.last_status.get();
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
            self.said_ready(said, version);
            return Ok(());
        }

        let status = json!({"conditions": [condition]});
        let params = PatchParams::apply(ready.manager.as_str());
        let mut base = Some(version.clone());
        // Events of the object wait until this is dropped.
        let _guard = WriteGuard::new(hub, &self.key);
        let answer = loop {
            match self
                .send_status(&resource, &params, &status, base.as_deref())
                .await
            {
                Ok(answer) => break answer,
                Err(Error::Gone { .. }) => return Ok(()),
                Err(Error::Client(error)) if is_theirs(&error) => {
                    if names(&error, &self.shared.field_manager) {
                        ready.is_left.store(true, Ordering::Relaxed);
                    }
                    tracing::debug!("the condition is left to who set it: {error}");
                    self.said_ready(said, version);
                    return Ok(());
                }
                // Somebody else was faster. The echo is not to be told from the other change.
                Err(Error::Client(error)) if error.is_conflict() && base.is_some() => base = None,
                Err(error) => return Err(error),
            }
        };
        let kept = status_of(&answer).map_err(failed)?;
        self.last_status.set(kept);
        if let Some(version) = answer.resource_version() {
            self.note_status(SentStatus {
                base,
                version: version.to_owned(),
            });
            self.said_ready(said, version.to_owned());
        }
        Ok(())
    }

    fn said_ready(&self, said: u128, version: String) {
        let states = &self.shared.hub.states;
        states.with(&self.key, |state| {
            state.ready = Some(Box::new(SaidReady { said, version }));
        });
    }
}

/// Whether somebody else owns the condition, with another value.
fn is_theirs(error: &client::Error) -> bool {
    error.is_conflict() && error.has_cause("FieldManagerConflict")
}

fn names(error: &client::Error, manager: &str) -> bool {
    let details = error.status().and_then(|status| status.details.as_ref());
    let quoted = format!("{manager:?}");
    let mut causes = details.into_iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.message.contains(&quoted))
}

/// In whole seconds, as the API keeps times.
fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}
