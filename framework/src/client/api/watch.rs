use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};

use super::api::Api;
use crate::{
    client::{
        Error, WatchEvent, WatchParams, WatchStream,
        decode::{DecodedArc, Received, decode_event, receive_event},
        request::url::Query,
        watch::ReadEvent,
    },
    resource::Object,
};

/// Watch changes.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns the changes that `params` selects, as they happen.
    ///
    /// The server ends every watch after some minutes, and connections break. To miss nothing, use an informer of
    /// [`cache`](crate::cache). To wait for one state, use [`wait_until`](Self::wait_until).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, ListParams, WatchEvent, WatchParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// use futures_util::TryStreamExt;
    ///
    /// let now = pods.list(&ListParams::default()).await?;
    /// let since = WatchParams::default().after(now.resource_version().unwrap_or_default());
    /// let mut events = pods.watch(&since).await?;
    /// while let Some(event) = events.try_next().await? {
    ///     if let WatchEvent::Deleted(pod) = event {
    ///         println!("{:?} is gone", pod.metadata.name);
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_expired`] if the server no longer has the requested version; the stream may return this, too.
    /// [`ErrorKind::Invalid`](crate::client::ErrorKind::Invalid) if the options are not valid. Otherwise the request fails; see [`ErrorKind`](crate::client::ErrorKind).
    pub async fn watch(&self, params: &WatchParams) -> Result<WatchStream<K>, Error> {
        let read = Box::new(decode_event);
        self.watch_by(params, read, Object::namespace).await
    }

    /// As [`watch`](Self::watch), but each object is in an `Arc` from the start.
    pub(crate) async fn watch_shared(
        &self,
        params: &WatchParams,
    ) -> Result<WatchStream<Arc<K>>, Error> {
        let events: WatchStream<DecodedArc<K>> = self
            .watch_by(
                params,
                Box::new(decode_event),
                |DecodedArc(object): &DecodedArc<K>| object.namespace(),
            )
            .await?;
        let shared = |event: WatchEvent<DecodedArc<K>>| event.map(|DecodedArc(object)| object);
        Ok(WatchStream::new(events.map_ok(shared)))
    }

    /// As [`watch`](Self::watch), for a cache: nothing is decoded but small objects, as long as `decodes_small`.
    pub(crate) async fn watch_for_cache(
        &self,
        params: &WatchParams,
        decodes_small: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<WatchStream<Received<K>>, Error> {
        let read: ReadEvent<Received<K>> =
            Box::new(move |frame, json_index, resource, managed_fields| {
                receive_event(frame, json_index, resource, managed_fields, decodes_small())
            });
        self.watch_by(params, read, Received::namespace).await
    }

    /// Watches, and reads each frame with `read`. `namespace` returns that of an object.
    async fn watch_by<T: Send + 'static>(
        &self,
        params: &WatchParams,
        read: ReadEvent<T>,
        namespace: fn(&T) -> Option<&str>,
    ) -> Result<WatchStream<T>, Error> {
        let call = self.call("watch", None, None);
        let mut query = Query::new(call.path()?);
        params
            .write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let response = self.client().watch(&call, query.finish()).await?;
        Ok(WatchStream::of_response(
            &call,
            response,
            self.keeps_managed_fields(),
            self.client().decoder.clone(),
            read,
            namespace,
        ))
    }
}
