use serde::{Serialize, de::DeserializeOwned};

use super::api::Api;
use crate::{
    client::{
        Error, WatchParams, WatchStream,
        decode::{AddBytes, DecodedArc},
        request::url::Query,
    },
    resource::{Object, ObjectMeta},
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
        self.watch_of(params, K::metadata, None).await
    }

    /// As [`watch`](Self::watch), but each object is in an `Arc` from the start. With its bytes if they are wanted.
    pub(crate) async fn watch_shared(
        &self,
        params: &WatchParams,
        with_bytes: bool,
    ) -> Result<WatchStream<DecodedArc<K>>, Error> {
        let add_bytes: AddBytes<DecodedArc<K>> = with_bytes.then_some(DecodedArc::add_encoded);
        self.watch_of(params, |one| one.object.metadata(), add_bytes)
            .await
    }

    async fn watch_of<T>(
        &self,
        params: &WatchParams,
        metadata: fn(&T) -> &ObjectMeta,
        add_bytes: AddBytes<T>,
    ) -> Result<WatchStream<T>, Error>
    where
        T: DeserializeOwned + Send + 'static,
    {
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
            metadata,
            add_bytes,
        ))
    }
}
