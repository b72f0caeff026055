use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{context::Context, ready_condition::ReadyCondition, send::with_verb};
use crate::{
    client::{self, Patch, PatchParams},
    controller::{
        error::Error,
        reconcilable::Reconcilable,
        state::{WriteGuard, Written, WrittenStatus},
    },
    resource::{ApiResource, HasStatus, keep_transitions},
};

/// The verb of a write of the status in errors.
const UPDATE_STATUS: &str = "update status";
/// The largest number of attempts to write a modified status.
pub(super) const ATTEMPTS: usize = 5;

/// Writes to the status of the reconciled object.
impl<K: Reconcilable> Context<K> {
    /// Writes `status` as the status of the reconciled object. It has the type of the kind's field `status`: see [`HasStatus`].
    ///
    /// This is a forced server-side apply of the status subresource with the operator's name as the field manager. Nothing
    /// is sent if the object has this status already. A condition whose status is the same keeps its transition time (see
    /// [`Conditions`](crate::resource::Conditions)). If a reconcile calls this several times, each call starts from what the
    /// call before wrote. The event of the write does not lead to a reconcile, unless another client changed the object too.
    ///
    /// `status` has all fields that this operator writes: fields that an earlier call had and this one has not are removed.
    /// [`modify_status`](Self::modify_status) changes only some fields. For a built-in kind set only the fields that are yours
    /// alone. If its type writes more than these, such as the counts of a PodDisruptionBudget, reconcile a
    /// [view](macro@crate::Resource) of the kind, whose status has only your fields.
    ///
    /// A status with a condition of type `Ready` takes over this condition for good: the framework stops setting it. A
    /// condition that was only copied from the object does not count. See
    /// [`Controller`](crate::controller::Controller#what-is-shown-on-the-objects).
    ///
    /// The compiler checks the type. The API server checks everything else against the CustomResourceDefinition that is installed:
    /// unknown and required fields, bounds, `values`, rules. A status that it refuses is [`Error::StatusRefused`]. The framework
    /// itself compares nothing with the schema.
    ///
    /// # Errors
    /// * [`Error::Gone`] if the reconciled object is gone.
    /// * [`Error::Serialize`] if the status cannot be written as JSON.
    /// * [`Error::StatusRefused`] if the schema of the kind refuses the status.
    /// * [`Error::Client`] if the request failed.
    pub async fn update_status(&self, status: K::Status) -> Result<(), Error>
    where
        K: HasStatus<Status: Serialize>,
    {
        let known = self.known_status()?;
        let status = self.status_value(&status)?;
        self.apply_status(status, known, None).await
    }

    /// Changes the status of the reconciled object: `change` gets the newest status that is known, and what it makes of it is
    /// written as [`update_status`](Self::update_status) does. Returns what `change` returns.
    ///
    /// The newest status is what this call wrote last, otherwise that of the cached object, otherwise the default. If the cache is
    /// behind an earlier write of this controller, the object is read from the server. Nothing is sent if `change` changes nothing.
    ///
    /// ```no_run
    /// # use pilothouse::{prelude::*, controller::Error, resource::{Conditions, NewCondition}};
    /// # #[derive(Resource, Clone, Debug)]
    /// # #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced)]
    /// # struct Website { metadata: ObjectMeta, status: Option<WebsiteStatus> }
    /// # #[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
    /// # #[serde(rename_all = "camelCase", default)]
    /// # struct WebsiteStatus { ready_replicas: i32, conditions: Vec<Condition> }
    /// # async fn example(cx: &Context<Website>) -> Result<()> {
    /// cx.modify_status(|status| status.ready_replicas = 3).await?;
    /// // The second `?` is for the error of the closure.
    /// let published = NewCondition::is_true("Published", "Uploaded");
    /// cx.modify_status(|status| status.conditions.set(published, cx.now())).await??;
    /// # Ok(()) }
    /// ```
    ///
    /// If another client changes the object meanwhile, but not its status, the status is written on the new version. If it changes
    /// the status, this call fails with a conflict, and the next reconcile starts from the new status: no change of others is lost.
    ///
    /// From then on the operator is a field manager of the whole status, also of what others wrote into it. So this does not
    /// compile for built-in kinds, whose status belongs to Kubernetes' own controllers, nor for a view, which lacks a part of the
    /// status. The compiler cannot tell this of a [`DynamicObject`](crate::resource::DynamicObject): do not call it for a built-in kind.
    ///
    /// # Errors
    /// As [`update_status`](Self::update_status). [`Error::Client`] with a conflict if another client changed the status at the same
    /// time.
    pub async fn modify_status<R>(
        &self,
        change: impl FnOnce(&mut K::Status) -> R,
    ) -> Result<R, Error>
    where
        K: HasStatus<Status: Serialize + DeserializeOwned + Default>,
    {
        const {
            assert!(
                !K::BUILT_IN,
                "`modify_status` would take over the whole status from Kubernetes' own controllers: call `update_status` with the fields that are yours"
            );
            assert!(
                !K::PARTIAL,
                "`modify_status` needs the whole status, and a view lacks a part of it: call `update_status` with the fields that are yours"
            );
        }
        let mut known = self.known_status()?;
        if !known.is_newest {
            (known.status, known.version) = self.read_status().await?;
            known.is_newest = true;
        }
        let found = known.status.clone();
        let mut status = match &found {
            Value::Null => K::Status::default(),
            status => K::Status::deserialize(status).map_err(|source| self.unwritable(source))?,
        };
        let changed = change(&mut status);
        let status = self.status_value(&status)?;
        self.apply_status(status, known, Some(found)).await?;
        Ok(changed)
    }

    /// The newest status that is known without a request.
    fn known_status(&self) -> Result<KnownStatus, Error> {
        let object = self.owner(UPDATE_STATUS)?;
        let seen = object.resource_version().unwrap_or_default();
        let key_states = &self.shared.controller.key_states;
        let (version, last) = key_states
            .with(&self.key, |state| {
                let newest = state.own_writes.as_ref().map(|ours| ours.newest(seen));
                (newest, state.status.clone())
            })
            .unwrap_or_default();
        let version = version.unwrap_or_else(|| seen.to_owned());
        let ours = self.last_status.get();
        // After a write of an earlier run the object in the cache is out of date. What this run wrote is not.
        let is_newest = ours.is_some() || version == seen;
        let status = match ours {
            Some(ours) => ours,
            None => status_of(&**object).map_err(|source| self.unwritable(source))?,
        };
        Ok(KnownStatus {
            status,
            version,
            is_newest,
            last,
        })
    }

    /// Reads the newest status from the server, and the version of the object that has it.
    pub(super) async fn read_status(&self) -> Result<(Value, String), Error> {
        let newest: Option<K> = self
            .own_api()
            .get_opt(self.key.name())
            .await
            .map_err(|error| with_verb(UPDATE_STATUS, error))?;
        let Some(newest) = newest else {
            return Err(self.gone());
        };
        let status = status_of(&newest).map_err(|source| self.unwritable(source))?;
        let version = newest.resource_version().unwrap_or_default().to_owned();
        Ok((status, version))
    }

    /// Writes `status`, unless the object has it already. `found` is the status that `status` was made from: if others have
    /// changed it, this is a conflict.
    async fn apply_status(
        &self,
        mut status: Value,
        known: KnownStatus,
        found: Option<Value>,
    ) -> Result<(), Error> {
        let KnownStatus {
            status: mut present,
            version,
            is_newest,
            last,
        } = known;
        strip_nulls(&mut status);
        keep_transitions(&mut status, &present);
        let ready = self.shared.ready.as_ref();
        let ready = ready.filter(|ready| ready.check_ownership(&mut status));
        // What others have written meanwhile is not overwritten.
        let first = ready.filter(|_| is_newest);
        let now = self.shared.client.clock().now_in_seconds();
        let first = first.and_then(|ready| ready.first(&present, &now));
        if ready.is_some() {
            ReadyCondition::remove_from(&mut present, &status);
        }
        let body = self.fingerprint(&status);

        let controller = &self.shared.controller;
        let written = Written {
            body,
            version: version.clone(),
        };
        if last.as_ref().is_some_and(|last| last.written == written) {
            controller.metrics.writes_skipped.inc();
            return Ok(());
        }
        if is_newest {
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
        self.write_status(status, first, body, version, found).await
    }

    async fn write_status(
        &self,
        mut status: Value,
        first: Option<Value>,
        body: u128,
        base: String,
        found: Option<Value>,
    ) -> Result<(), Error> {
        let controller = &self.shared.controller;
        // Events of the object are parked until this is dropped.
        let _guard = WriteGuard::new(controller, &self.key);
        let sent = self.send_on(&status, first, base, found).await;
        let (answer, base) = sent.map_err(|error| self.refused(error))?;
        if let Some(version) = answer.resource_version() {
            let version = version.to_owned();
            let mut stored = status_of(&answer).map_err(|source| self.unwritable(source))?;
            self.last_status.set(stored.clone());
            if self
                .shared
                .ready
                .as_ref()
                .is_some_and(|ready| ready.check_ownership(&mut status))
            {
                ReadyCondition::remove_from(&mut stored, &status);
            }
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

    /// Sends the status for version `base` of the object. Returns the answer, and the version that it is based on if that is known.
    ///
    /// If another client was faster, its change leads to another reconcile. Without `found` the status is applied to whatever
    /// version there is, and its echo cannot be told from the other change. With `found` it is applied only if the status is
    /// still as it was found. `first` is the condition that is added to a version without one.
    async fn send_on(
        &self,
        status: &Value,
        first: Option<Value>,
        base: String,
        found: Option<Value>,
    ) -> Result<(K, Option<String>), Error> {
        let (resource, params) = (self.resource(), self.forced());
        let with_first = match first {
            Some(first) => ReadyCondition::added(status, first),
            None => status.clone(),
        };
        let mut base = base;
        let mut attempt = 1;
        loop {
            let version = Some(base.clone());
            let sent = self.send_status(resource, &params, &with_first, version);
            let conflict = match sent.await {
                Err(error) if error.is_conflict() => error,
                sent => return Ok((sent?, Some(base))),
            };
            let Some(found) = &found else {
                let sent = self.send_status(resource, &params, status, None);
                return Ok((sent.await?, None));
            };
            let (newest, version) = self.read_status().await?;
            if newest != *found || attempt == ATTEMPTS {
                return Err(conflict);
            }
            base = version;
            attempt += 1;
        }
    }

    /// The error of a status write, if the schema of the kind refused the status.
    fn refused(&self, error: Error) -> Error {
        match error {
            Error::Client(source) => match refused_fields(&source) {
                Some(fields) => Error::StatusRefused {
                    kind: self.kind(),
                    key: self.key.clone(),
                    fields,
                    source: Box::new(source),
                },
                None => Error::Client(source),
            },
            other => other,
        }
    }

    fn status_value(&self, status: &K::Status) -> Result<Value, Error>
    where
        K: HasStatus<Status: Serialize>,
    {
        serde_json::to_value(status).map_err(|source| self.unwritable(source))
    }

    fn unwritable(&self, source: serde_json::Error) -> Error {
        Error::serialize(UPDATE_STATUS, self.resource(), &self.key, source)
    }

    fn gone(&self) -> Error {
        Error::Gone {
            verb: UPDATE_STATUS,
            kind: self.kind(),
            key: self.key.clone(),
        }
    }

    /// Applies `status` to the status subresource of the reconciled object. With `version` only if the object still has this
    /// version.
    pub(super) async fn send_status(
        &self,
        resource: &ApiResource,
        params: &PatchParams,
        status: &Value,
        version: Option<String>,
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
        let call = api.call("patch", Some(self.key.name()), Some("status"));
        let send = api.patch_with_answer(call, params, &patch);
        let written = self.write("apply", resource, &self.key, send).await;
        let written = written.map(|(object, _)| object);
        let is_missing = |error: &Error| {
            let answer = error.client();
            answer.is_some_and(|answer| answer.is_not_found() && !answer.is_not_served())
        };
        match written {
            // A server that has no status of the kind answers as for an object that it does not have.
            Err(error) if is_missing(&error) => {
                match self.on_server(UPDATE_STATUS, resource, &self.key).await? {
                    Some(_) => Err(Error::NoStatusSubresource {
                        verb: UPDATE_STATUS,
                        kind: self.kind(),
                        key: self.key.clone(),
                    }),
                    None => Err(self.gone()),
                }
            }
            written => written,
        }
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

    pub(super) fn fingerprint(&self, status: &Value) -> u128 {
        self.shared.fingerprints.of(status.to_string().as_bytes())
    }
}

/// A status of the object, and what is known about it.
struct KnownStatus {
    /// With the framework's condition.
    status: Value,
    /// The newest known version of the object.
    version: String,
    /// Whether no write of this controller came after this status.
    is_newest: bool,
    /// What the controller wrote last.
    last: Option<Box<WrittenStatus>>,
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

/// The fields that the schema of the kind refused; `None` if the request failed for another reason.
///
/// A value that breaks the schema is an invalid object (422), whose causes name the fields. A field that the schema does not
/// have, or that has another type there, is an internal error (500) of server-side apply: only its text names the fields.
fn refused_fields(error: &client::Error) -> Option<String> {
    const UNTYPED: &str = "failed to create typed patch object";
    let status = error.status()?;
    let mut fields: Vec<&str> = match error.is_invalid() {
        true => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            causes.map(|cause| cause.field.as_str()).collect()
        }
        false if status.message.starts_with(UNTYPED) => {
            let words = status.message.split_whitespace();
            let paths = words.filter_map(|word| word.strip_prefix('.')?.strip_suffix(':'));
            paths.collect()
        }
        false => return None,
    };
    fields.retain(|field| !field.is_empty());
    fields.dedup();
    Some(match fields.is_empty() {
        true => "status".to_owned(),
        false => fields.join(", "),
    })
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
