use serde::Serialize;
use serde_json::{Value, json};

use super::{context::Context, ready_condition::ReadyCondition};
use crate::{
    client::{Patch, PatchParams},
    controller::{
        error::Error,
        reconcilable::Reconcilable,
        state::{WriteGuard, Written, WrittenStatus},
    },
    resource::{ApiResource, keep_transitions},
};

/// Writes to the status of the reconciled object.
impl<K: Reconcilable> Context<K> {
    /// Writes `status` as the status of the reconciled object.
    ///
    /// This is a forced server-side apply of the status subresource with the operator's name as the field manager. Nothing
    /// is sent if the object has this status already. A condition whose status is the same keeps its transition time (see
    /// [`Conditions`](crate::resource::Conditions)). If a reconcile calls this several times, each call starts from what the
    /// call before wrote. The event of the write does not lead to a reconcile, unless another client changed the object too.
    ///
    /// A status with a condition of type `Ready` takes over this condition for good: the framework stops setting it. A
    /// condition that was only copied from the object does not count. See
    /// [`Controller`](crate::controller::Controller#what-is-shown-on-the-objects).
    ///
    /// # Errors
    /// * [`Error::Gone`] if the reconciled object is gone.
    /// * [`Error::MetadataOnly`] if the controller reads only the metadata of the reconciled kind.
    /// * [`Error::Serialize`] if the status cannot be written as JSON.
    /// * [`Error::Client`] if the request failed.
    pub async fn update_status<S: Serialize>(&self, status: S) -> Result<(), Error> {
        let object = self.owner("update status")?;
        if K::METADATA_ONLY {
            return Err(Error::MetadataOnly {
                verb: "update status",
                kind: self.kind(),
                key: self.key.clone(),
            });
        }
        let resource = self.resource();
        let failed = |source| Error::serialize("update status", resource, &self.key, source);
        let mut status = serde_json::to_value(status).map_err(failed)?;
        strip_nulls(&mut status);
        let ours = self.last_status.get();
        let newer = ours.is_some();
        let mut present = ours
            .map_or_else(|| status_of(&**object), Ok)
            .map_err(failed)?;
        keep_transitions(&mut status, &present);
        self.remove_ready(&mut present, &mut status);
        let body = self.fingerprint(&status);

        let controller = &self.shared.controller;
        let seen = object.resource_version().unwrap_or_default();
        let (version, last) = controller
            .key_states
            .with(&self.key, |state| {
                let newest = state.own_writes.as_ref().map(|ours| ours.newest(seen));
                (newest, state.status.clone())
            })
            .unwrap_or_default();
        let version = version.unwrap_or_else(|| seen.to_owned());
        let written = Written {
            body,
            version: version.clone(),
        };
        if last.as_ref().is_some_and(|last| last.written == written) {
            controller.metrics.writes_skipped.inc();
            return Ok(());
        }
        // After a write of an earlier run the object in the cache is out of date. What this run wrote is not.
        if newer || version == seen {
            let stored = self.fingerprint(&present);
            let as_stored =
                last.is_some_and(|last| last.written.body == body && last.stored == stored);
            if as_stored || present == status {
                controller.key_states.with(&self.key, |state| {
                    state.status = Some(Box::new(WrittenStatus { written, stored }));
                });
                controller.metrics.writes_skipped.inc();
                return Ok(());
            }
        }
        self.write_status(resource, status, body, version).await
    }

    async fn write_status(
        &self,
        resource: &ApiResource,
        mut status: Value,
        body: u128,
        base: String,
    ) -> Result<(), Error> {
        let controller = &self.shared.controller;
        let params = self.forced();
        let send = |version| self.send_status(resource, &params, &status, version);
        // Events of the object are parked until this is dropped.
        let _guard = WriteGuard::new(controller, &self.key);
        let answer = match send(Some(base.as_str())).await {
            // Another client was faster, and its change leads to another reconcile. The status is applied to whatever
            // version there is. Its echo cannot be told from the other change.
            Err(error) if error.client().is_some_and(|error| error.is_conflict()) => {
                (send(None).await?, None)
            }
            other => (other?, Some(base)),
        };
        if let (answer, base) = answer
            && let Some(version) = answer.resource_version()
        {
            let version = version.to_owned();
            let mut stored = status_of(&answer)
                .map_err(|source| Error::serialize("update status", resource, &self.key, source))?;
            self.last_status.set(stored.clone());
            self.remove_ready(&mut stored, &mut status);
            let stored = self.fingerprint(&stored);
            self.note_status(SentStatus {
                base,
                version: version.clone(),
            });
            controller.key_states.with(&self.key, |state| {
                let written = Written { body, version };
                state.status = Some(Box::new(WrittenStatus { written, stored }));
            });
        }
        Ok(())
    }

    /// Applies `status` to the status subresource of the reconciled object. With `version` only if the object still has this
    /// version.
    pub(super) async fn send_status(
        &self,
        resource: &ApiResource,
        params: &PatchParams,
        status: &Value,
        version: Option<&str>,
    ) -> Result<K, Error> {
        let mut metadata = json!({"name": self.key.name()});
        if let Some(namespace) = self.key.namespace() {
            metadata["namespace"] = namespace.into();
        }
        if let Some(version) = version {
            metadata["resourceVersion"] = version.into();
        }
        let patch = Patch::Apply(json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "metadata": metadata,
            "status": status,
        }));
        let api = self.own_api();
        let send = api.patch_status(self.key.name(), params, &patch);
        let written = self.write("apply", resource, &self.key, send).await;
        written.map_err(|error| match error.client() {
            Some(answer) if answer.is_not_found() && !answer.is_not_served() => Error::Gone {
                verb: "update status",
                kind: self.kind(),
                key: self.key.clone(),
            },
            _ => error,
        })
    }

    /// Notes a status that the server accepted, so that its echo is recognized.
    pub(super) fn note_status(&self, sent: SentStatus) {
        let SentStatus { base, version } = sent;
        let Some(base) = base else { return };
        self.shared.controller.key_states.with(&self.key, |state| {
            if let Some(last) = &mut state.status
                && last.written.version == base
            {
                last.written.version.clone_from(&version);
            }
            let ours = state.own_writes.get_or_insert_default();
            ours.wrote(base, version);
        });
    }

    /// Removes the framework's condition from the server's status before it is compared with the reconciler's.
    fn remove_ready(&self, stored: &mut Value, written: &mut Value) {
        let ready = self.shared.ready.as_ref();
        if ready.is_some_and(|ready| ready.check_ownership(written)) {
            ReadyCondition::remove_from(stored, written);
        }
    }

    pub(super) fn fingerprint(&self, status: &Value) -> u128 {
        self.shared.fingerprints.of(status.to_string().as_bytes())
    }
}

/// A status that the server accepted.
pub(super) struct SentStatus {
    /// The version that the object had to have; `None` if any version was accepted.
    pub(crate) base: Option<String>,
    /// The version that the write led to.
    pub(crate) version: String,
}

pub(super) fn status_of<K: Serialize>(object: &K) -> Result<Value, serde_json::Error> {
    let mut object = serde_json::to_value(object)?;
    let mut status = object
        .get_mut("status")
        .map(Value::take)
        .unwrap_or_default();
    strip_nulls(&mut status);
    Ok(status)
}

/// Removes fields with the value `null`: for the server they are the same as no field.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}
