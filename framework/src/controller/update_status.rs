use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Context, Error, applied::Written, hub::WriteGuard, key_states::WrittenStatus,
    ready_condition::ReadyCondition,
};
use crate::{
    client::{Api, Patch, PatchParams},
    resource::{ApiResource, Resource, keep_transitions},
};

impl<K: Resource> Context<K> {
    /// Makes `status` the status of the reconciled object.
    ///
    /// Server-side apply of the status subresource, forced, under the operator's name. Nothing is sent
    /// when the object has this status already; conditions keep their transition times where their status
    /// is the same (see [`Conditions`](crate::resource::Conditions)). Of a reconcile that does it more than once each
    /// call begins with what the one before wrote. The event by which the write comes back does not
    /// lead to a reconcile, unless somebody else changed something, too.
    ///
    /// A status with a condition of type `Ready` takes this condition over for good: the framework does not set it any
    /// more, unless the condition was only copied from the object. See [`Controller`](super::Controller#what-is-shown-on-the-objects).
    ///
    /// # Errors
    /// [`Error::Gone`] when the object is gone; the server's.
    pub async fn update_status<S: Serialize>(&self, status: S) -> Result<(), Error> {
        let object = self.owner("update status")?;
        let resource = ApiResource::of::<K>();
        let failed = |source| Error::serialize("update status", &resource, &self.key, source);
        let mut status = serde_json::to_value(status).map_err(failed)?;
        strip_nulls(&mut status);
        let ours = self.last_status.get();
        let newer = ours.is_some();
        let mut present = ours
            .map_or_else(|| status_of(&**object), Ok)
            .map_err(failed)?;
        keep_transitions(&mut status, &present);
        self.take_out_ready(&mut present, &mut status);
        let body = self.fingerprint(&status);

        let hub = &self.shared.hub;
        let seen = object.resource_version().unwrap_or_default();
        let (version, last) = hub
            .states
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
            hub.metrics.writes_skipped.inc();
            return Ok(());
        }
        // The object that was seen is out of date after a write of an earlier run; what this one wrote is not.
        if newer || version == seen {
            let kept = self.fingerprint(&present);
            let as_kept = last.is_some_and(|last| last.written.body == body && last.kept == kept);
            if as_kept || present == status {
                hub.states.with(&self.key, |state| {
                    state.status = Some(Box::new(WrittenStatus { written, kept }));
                });
                hub.metrics.writes_skipped.inc();
                return Ok(());
            }
        }
        self.write_status(&resource, status, body, version).await
    }

    async fn write_status(
        &self,
        resource: &ApiResource,
        mut status: Value,
        body: u128,
        base: String,
    ) -> Result<(), Error> {
        let hub = &self.shared.hub;
        let params = self.forced();
        let send = |version| self.send_status(resource, &params, &status, version);
        // Events of the object wait until this is dropped.
        let _guard = WriteGuard::new(hub, &self.key);
        let answer = match send(Some(base.as_str())).await {
            // Somebody else was faster; that change leads to another reconcile. The status is
            // ours all the same, and its echo is not to be told from the other change.
            Err(error) if error.client().is_some_and(|error| error.is_conflict()) => {
                (send(None).await?, None)
            }
            other => (other?, Some(base)),
        };
        if let (answer, base) = answer
            && let Some(version) = answer.resource_version()
        {
            let version = version.to_owned();
            let mut kept = status_of(&answer)
                .map_err(|source| Error::serialize("update status", resource, &self.key, source))?;
            self.last_status.set(kept.clone());
            self.take_out_ready(&mut kept, &mut status);
            let kept = self.fingerprint(&kept);
            self.note_status(SentStatus {
                base,
                version: version.clone(),
            });
            hub.states.with(&self.key, |state| {
                let written = Written { body, version };
                state.status = Some(Box::new(WrittenStatus { written, kept }));
            });
        }
        Ok(())
    }

    /// Applies `status` to the status subresource of the reconciled object, if that is of `version` still.
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
            "kind": K::KIND,
            "metadata": metadata,
            "status": status,
        }));
        let api = Api::<K>::of(&self.shared.client, resource.clone(), self.key.namespace());
        let send = api.patch_status(self.key.name(), params, &patch);
        let written = self.write("apply", resource, &self.key, send).await;
        written.map_err(|error| match error.client() {
            Some(answer) if answer.is_not_found() && !answer.is_not_served() => Error::Gone {
                verb: "update status",
                kind: K::KIND,
                key: self.key.clone(),
            },
            _ => error,
        })
    }

    /// Notes a status that was sent, so that its echo is known.
    pub(super) fn note_status(&self, sent: SentStatus) {
        let SentStatus { base, version } = sent;
        let Some(base) = base else { return };
        self.shared.hub.states.with(&self.key, |state| {
            if let Some(last) = &mut state.status
                && last.written.version == base
            {
                last.written.version.clone_from(&version);
            }
            let ours = state.own_writes.get_or_insert_default();
            ours.wrote(base, version);
        });
    }

    /// Leaves the framework's own condition out of a status that is compared with the reconciler's.
    fn take_out_ready(&self, kept: &mut Value, written: &mut Value) {
        let ready = self.shared.hub.publishing.ready.as_ref();
        if ready.is_some_and(|ready| ready.is_ours_beside(written)) {
            ReadyCondition::take_out(kept, written);
        }
    }

    pub(super) fn fingerprint(&self, status: &Value) -> u128 {
        self.shared.fingerprints.of(status.to_string().as_bytes())
    }
}

/// A status that the server took.
pub(super) struct SentStatus {
    /// The version on which it was sent; `None` if it was sent on any.
    pub(super) base: Option<String>,
    /// The version that came of it.
    pub(super) version: String,
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

/// Fields without a value: on the wire they are the same as no field.
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
