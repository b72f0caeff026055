use super::{Context, Error, hub::Hub};
use crate::{
    cache::Field,
    client::{self, Deleted},
    resource::{ApiResource, Object, ObjectKey, Resource},
};
use serde::Serialize;

impl<K: Resource> Context<K> {
    /// The one way of every write that answers the object as it is then: create, update, patch and
    /// their subresources. What comes of `send` is noted for read-your-writes (design promise R5);
    /// errors say `verb`.
    ///
    /// `send` is a request for exactly one object, `key` of `resource`. Of one whose name the server
    /// makes the answer tells the key; `key` is then the namespace with an empty name.
    pub(super) async fn write<C: Object + Serialize>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<C, client::Error>>,
    ) -> Result<C, Error> {
        let under_way = self.begin(resource, key);
        let answer = under_way.settled(send.await);
        let answer = answer.map_err(|error| told(verb, error))?;
        if !self.uncached {
            self.wrote(resource, &answer);
        }
        Ok(answer)
    }

    /// As [`write`](Self::write), for a deletion.
    pub(super) async fn write_deletion<C: Object + Serialize>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<Deleted<C>, client::Error>>,
    ) -> Result<Deleted<C>, Error> {
        let writes = &self.shared.hub.writes;
        let before = writes.before(resource, key);
        let under_way = self.begin(resource, key);
        let answer = under_way.settled(send.await);
        let answer = answer.map_err(|error| told(verb, error))?;
        if self.uncached {
            return Ok(answer);
        }
        let (uid, version) = match &answer {
            Deleted::Deleting(object) if is_staying(&**object) => {
                self.wrote(resource, &**object);
                return Ok(answer);
            }
            Deleted::Deleting(object) => (object.uid(), object.resource_version()),
            Deleted::Done(status) => {
                let details = status.details.as_ref();
                let uid = details.map(|details| details.uid.as_str());
                (uid.filter(|uid| !uid.is_empty()), None)
            }
        };
        writes.deleted(&self.key, resource, key, uid, version, &before);
        Ok(answer)
    }

    fn wrote(&self, resource: &ApiResource, answer: &(impl Object + Serialize)) {
        // Only a field selector needs it, which few caches have.
        let written = std::cell::OnceCell::new();
        let field = |path: &str| {
            let object = written.get_or_init(|| read(serde_json::to_vec(answer)));
            Field::at(path, object.as_ref()?)
        };
        let writes = &self.shared.hub.writes;
        writes.wrote(&self.key, resource, answer, field);
    }

    fn begin<'a>(&'a self, resource: &'a ApiResource, object: &'a ObjectKey) -> UnderWay<'a> {
        self.shared.hub.metrics.writes_sent.inc();
        UnderWay {
            hub: &self.shared.hub,
            key: &self.key,
            resource,
            object,
            counts: !self.uncached && !object.name().is_empty(),
        }
    }
}

/// A write that was begun. If it is dropped without an answer, nobody knows whether it was done.
struct UnderWay<'a> {
    hub: &'a Hub,
    key: &'a ObjectKey,
    resource: &'a ApiResource,
    object: &'a ObjectKey,
    counts: bool,
}

impl UnderWay<'_> {
    /// It has ended, one way or the other.
    fn settled<T>(mut self, answer: Result<T, client::Error>) -> Result<T, client::Error> {
        self.counts &= answer.as_ref().is_err_and(may_be_done);
        answer
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.counts {
            self.hub
                .writes
                .unknown(self.key, self.resource, self.object);
        }
    }
}

fn read(json: serde_json::Result<Vec<u8>>) -> Option<serde_json::Value> {
    serde_json::from_slice(&json.ok()?).ok()
}

/// Whether an object whose deletion was answered with it is there still.
fn is_staying(object: &impl Object) -> bool {
    let metadata = object.metadata();
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let grace = metadata.deletion_grace_period_seconds.unwrap_or_default();
    object.is_deleting() && (!finalizers.is_empty() || grace > 0)
}

/// Whether a write that failed so may have been done all the same.
fn may_be_done(error: &client::Error) -> bool {
    match error {
        client::Error::Api { status, .. } => matches!(status.code, 408 | 500..=599),
        client::Error::Connect { .. }
        | client::Error::Fenced { .. }
        | client::Error::NotDeclared { .. }
        | client::Error::Invalid { .. }
        | client::Error::Config(_) => false,
        _ => true,
    }
}

/// The same error in the words of the user, who asked for `asked`.
pub(super) fn told(asked: &'static str, mut error: client::Error) -> Error {
    if let client::Error::Api { verb, .. }
    | client::Error::Connect { verb, .. }
    | client::Error::Transport { verb, .. }
    | client::Error::Timeout { verb, .. }
    | client::Error::Fenced { verb, .. }
    | client::Error::NotDeclared { verb, .. }
    | client::Error::Decode { verb, .. }
    | client::Error::Invalid { verb, .. } = &mut error
    {
        *verb = asked;
    }
    Error::Client(error)
}
