use super::{
    context::Context,
    written_objects::{Answer, Gone, Stored},
};
use crate::{
    cache::Field,
    client::{self, Deleted, EncodedObject},
    controller::{
        error::Error,
        history::whole,
        reconcilable::Reconcilable,
        state::{ControllerState, ObjectId, object_id},
    },
    events::NewEvent,
    resource::{ApiResource, Object, ObjectKey},
};
use serde::Serialize;
use serde_json::Value;

/// The way of every request that writes.
impl<K: Reconcilable> Context<K> {
    /// Sends a write whose answer is the object: create, update, patch, and the same on subresources. All such writes go
    /// through here. The result is noted for read-your-writes (R5), and for the reads of this call. Errors name `verb`.
    ///
    /// `send` is a request for exactly one object, `key` of `resource`. If the server generates the name, `key` has an empty
    /// name and the answer has the full key. Returns the encoded answer, too.
    pub(crate) async fn write<C: Object + Serialize>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<(C, EncodedObject), client::Error>>,
    ) -> Result<(C, EncodedObject), Error> {
        let before = self.before_write::<C>(resource, key);
        let object = self.leads_back(resource, key);
        let controller = &self.shared.controller;
        if let Some(object) = &object {
            controller.begin_run_write(&self.key, self.run, object.clone());
        }
        let write = self.begin_write(verb, resource, key);
        let answer = write.ended(send.await);
        let stored = answer.as_ref().map(|(object, _)| Some(object));
        self.record(verb, resource, key, before, stored);
        let (answer, encoded) = answer.map_err(|error| with_verb(verb, error))?;
        let encoded = encoded.to_keep();
        if !self.uncached {
            self.note_write(resource, &answer);
        }
        self.note_stored(resource, &answer, &encoded);
        // A read of the kind that ended before the answer was noted may have led to a decision by the version before.
        if let Some(object) = object.filter(|object| !self.read_kinds.contains(object)) {
            controller.run_write_answered(&self.key, self.run, &object, answer.metadata());
        }
        Ok((answer, encoded))
    }

    /// Sends a deletion. All deletions go through here, as all other writes go through [`write`](Self::write).
    pub(crate) async fn write_deletion<C: Object + Serialize>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<(Deleted<C>, Option<EncodedObject>), client::Error>>,
    ) -> Result<(), Error> {
        let writes = &self.shared.controller.writes;
        let before = writes.before(resource, key);
        let write = self.begin_write(verb, resource, key);
        let answer = write.ended(send.await);
        self.record::<C>(verb, resource, key, None, answer.as_ref().map(|_| None));
        let (answer, encoded) = answer.map_err(|error| with_verb(verb, error))?;
        let (uid, version) = match &answer {
            Deleted::Deleting(object) if still_exists(&**object) => {
                if !self.uncached {
                    self.note_write(resource, &**object);
                }
                if let Some(encoded) = encoded {
                    self.note_stored(resource, &**object, &encoded.to_keep());
                }
                return Ok(());
            }
            Deleted::Deleting(object) => (object.uid(), object.resource_version()),
            Deleted::Done(status) => {
                let details = status.details.as_ref();
                let uid = details.map(|details| details.uid.as_str());
                (uid.filter(|uid| !uid.is_empty()), None)
            }
        };
        if !self.uncached {
            writes.deleted(&self.key, resource, key, uid, version, &before);
        }
        if let Some(uid) = uid.or_else(|| before.uid()) {
            let gone = Gone {
                uid: uid.to_owned(),
                existed: version.map(str::to_owned),
            };
            self.note_answer(resource, key, Answer::Gone(gone));
        }
        Ok(())
    }

    /// Lets the reads of this call show an object as the server stored it.
    fn note_stored<C: Object>(&self, resource: &ApiResource, object: &C, encoded: &EncodedObject) {
        let (Some(uid), Some(version)) = (object.uid(), object.resource_version()) else {
            return;
        };
        let is_shown = !self.uncached && !C::METADATA_ONLY;
        let stored = Stored {
            uid: uid.to_owned(),
            version: version.to_owned(),
            whole: is_shown.then(|| encoded.clone()),
        };
        self.note_answer(resource, &object.key(), Answer::Stored(stored));
    }

    fn note_answer(&self, resource: &ApiResource, key: &ObjectKey, answer: Answer) {
        let writes = &self.shared.controller.writes;
        if writes.follows(resource) {
            let is_awaited = |resource: &_, object: &_| writes.awaits(&self.key, resource, object);
            self.written.note(resource, key, answer, is_awaited);
        }
    }

    /// The object, if the events of its kind lead to its owner, which may be the reconciled object. Every call reads its own
    /// kind. A name that the server generates is not known before.
    fn leads_back(&self, resource: &ApiResource, key: &ObjectKey) -> Option<ObjectId> {
        let own = self.resource();
        let is_own = own.plural == resource.plural && own.group == resource.group;
        let mut detached = self.shared.detached_kinds.iter();
        let leads_back = self.shared.controller.caches.is_owned(resource)
            || detached.any(|(_, kind)| kind == resource);
        (!is_own && leads_back && !key.name().is_empty()).then(|| object_id(resource, key))
    }

    /// The object as the cache has it, if it is recorded what writes change.
    fn before_write<C>(&self, resource: &ApiResource, key: &ObjectKey) -> Option<Value>
    where
        C: Object + Serialize,
    {
        let controller = &self.shared.controller;
        controller.history.as_ref()?;
        let cache = controller.caches.get::<C>(resource)?;
        let cached = cache.get(key).ok().flatten()?;
        whole(&*cached)
    }

    /// Records a write that was answered, if somebody wants to know. `answer` has the object as the server stored it.
    fn record<C: Object + Serialize>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        before: Option<Value>,
        answer: Result<Option<&C>, &client::Error>,
    ) {
        let Some(history) = &self.shared.controller.history else {
            return;
        };
        let after = answer.as_ref().ok().copied().flatten();
        // The server may have chosen the name.
        let key = after.map_or_else(|| key.clone(), Object::key);
        let after = after.filter(|_| before.is_some()).and_then(whole);
        let result = match answer {
            Ok(_) => Ok(after.as_ref()),
            Err(error) => Err(error.to_string()),
        };
        let object = format!("{} {key}", resource.kind);
        history.wrote(&self.key, verb, object, before.as_ref(), result);
    }

    fn note_write(&self, resource: &ApiResource, answer: &(impl Object + Serialize)) {
        // Read only if a cache has a field selector, which few have.
        let written = std::cell::OnceCell::new();
        let field = |path: &str| {
            let object = written.get_or_init(|| whole(answer));
            Field::at(path, object.as_ref()?)
        };
        let writes = &self.shared.controller.writes;
        writes.wrote(&self.key, resource, answer, field);
    }

    fn begin_write<'a>(
        &'a self,
        verb: &'static str,
        resource: &'a ApiResource,
        object: &'a ObjectKey,
    ) -> PendingWrite<'a> {
        let controller = &self.shared.controller;
        controller.metrics.writes_sent.inc();
        if controller.note_write(&self.key) {
            self.report_write_loop(&format!("{verb} {} {object}", resource.kind));
        }
        PendingWrite {
            controller,
            key: &self.key,
            resource,
            object,
            note_unknown: !self.uncached && !object.name().is_empty(),
        }
    }

    /// Tells people that the calls for this object write too often.
    fn report_write_loop(&self, write: &str) {
        let text = self.shared.controller.write_loop_text(write);
        tracing::warn!(
            controller = self.shared.controller.name,
            "{} {}: {text}",
            self.resource().kind,
            self.key
        );
        if self.shared.failure_events {
            self.event(NewEvent::warning("WritesRepeat", "Reconcile").note(text));
        }
    }
}

/// A write that was sent. If it is dropped without an answer, the server may have applied the write or not.
struct PendingWrite<'a> {
    controller: &'a ControllerState,
    key: &'a ObjectKey,
    resource: &'a ApiResource,
    object: &'a ObjectKey,
    /// Whether to note an unknown result when this is dropped.
    note_unknown: bool,
}

impl PendingWrite<'_> {
    /// The write has ended with `answer`.
    fn ended<T>(mut self, answer: Result<T, client::Error>) -> Result<T, client::Error> {
        self.note_unknown &= answer
            .as_ref()
            .is_err_and(client::Error::is_outcome_unknown);
        answer
    }
}

impl Drop for PendingWrite<'_> {
    fn drop(&mut self) {
        if self.note_unknown {
            self.controller
                .writes
                .unknown(self.key, self.resource, self.object);
        }
    }
}

/// Whether an object still exists after its deletion was answered with the object: a finalizer or a grace period keeps it.
fn still_exists(object: &impl Object) -> bool {
    let metadata = object.metadata();
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let grace = metadata.deletion_grace_period_seconds.unwrap_or_default();
    object.is_deleting() && (!finalizers.is_empty() || grace > 0)
}

/// The same error with the verb of the method that the user called.
pub(crate) fn with_verb(user_verb: &'static str, error: client::Error) -> Error {
    Error::Client(error.with_verb(user_verb))
}
