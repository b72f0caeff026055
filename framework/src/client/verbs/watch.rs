use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    client::{Api, Error, WatchEvent, WatchParams, WatchStream, decode::Shared, url::Query},
    resource::Object,
};

/// Hearing of changes.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// The changes that `params` asks for, as they happen.
    ///
    /// The server ends every watch after some minutes, and connections break: who must not miss
    /// anything takes an informer of [`cache`](crate::cache); who waits for one thing takes
    /// [`wait_until`](Self::wait_until).
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
    pub async fn watch(&self, params: &WatchParams) -> Result<WatchStream<K>, Error> {
        self.watch_of(params).await
    }

    /// As [`watch`](Self::watch), for those who share what they get.
    pub(crate) async fn watch_shared(
        &self,
        params: &WatchParams,
    ) -> Result<WatchStream<Arc<K>>, Error> {
        let events: WatchStream<Shared<K>> = self.watch_of(params).await?;
        let shared = |event: WatchEvent<Shared<K>>| event.map(|Shared(object)| object);
        Ok(WatchStream::new(events.map_ok(shared)))
    }

    async fn watch_of<T>(&self, params: &WatchParams) -> Result<WatchStream<T>, Error>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let call = self.call("watch", None, None);
        let mut query = Query::new(call.path()?);
        params
            .write(&mut query)
            .map_err(|wrong| call.invalid(wrong))?;
        let body = self.client().watch(&call, query.finish()).await?;
        Ok(WatchStream::of_body(
            &call,
            body,
            self.keeps_managed_fields(),
        ))
    }
}
