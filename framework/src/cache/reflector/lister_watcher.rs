use futures_core::Stream;

use crate::{
    cache::Entry,
    client::{Error, ListParams, ObjectList, Reconnections, WatchEvent, WatchParams},
    resource::ApiResource,
};

/// The source of the objects of a cache: an API server, or something that stands in for one.
///
/// Dropping the future of a call cancels it.
///
/// Another source than an API server needs resource versions that grow with each change, and marks a list with the
/// resource version of its newest change:
///
/// ```
/// use futures_util::stream::{self, BoxStream, StreamExt};
/// use pilothouse::{
///     cache::{InformerScope, ListerWatcher, SharedInformer},
///     client::{Error, ListParams, ObjectList, WatchEvent, WatchParams},
///     k8s::api::core::v1::ConfigMap,
///     metrics::Metrics,
///     resource::{ApiResource, ObjectKey, ObjectMeta},
/// };
/// use tokio_util::sync::CancellationToken;
///
/// /// One setting that exists from the start, and one that is added later.
/// struct Settings(ApiResource);
///
/// fn setting(name: &str, version: u64) -> ConfigMap {
///     ConfigMap {
///         metadata: ObjectMeta {
///             name: Some(name.into()),
///             namespace: Some("default".into()),
///             resource_version: Some(version.to_string()),
///             ..ObjectMeta::default()
///         },
///         ..ConfigMap::default()
///     }
/// }
///
/// impl ListerWatcher<ConfigMap> for Settings {
///     type Item = ConfigMap;
///     type Watch = BoxStream<'static, Result<WatchEvent<ConfigMap>, Error>>;
///
///     async fn list(&self, _: &ListParams) -> Result<ObjectList<ConfigMap>, Error> {
///         let mut list = ObjectList { items: vec![setting("first", 1)], ..ObjectList::default() };
///         list.metadata.resource_version = Some("1".into());
///         Ok(list)
///     }
///
///     async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
///         assert_eq!(params.resource_version.as_deref(), Some("1"));
///         let events = stream::iter([Ok(WatchEvent::Added(setting("second", 2)))]);
///         // When a stream ends, the reflector opens another one from the last version.
///         Ok(events.chain(stream::pending()).boxed())
///     }
///
///     fn resource(&self) -> &ApiResource {
///         &self.0
///     }
///
///     fn namespace(&self) -> Option<&str> {
///         Some("default")
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let metrics = Metrics::new().informer("", "v1", "configmaps");
/// let source = Settings(ApiResource::of::<ConfigMap>());
/// let informer = SharedInformer::new(source, InformerScope::all(), metrics);
/// let cancel = CancellationToken::new();
/// let task = tokio::spawn(informer.run(cancel.clone()));
/// assert!(informer.synced().await);
/// let second = ObjectKey::namespaced("default", "second");
/// while !informer.lister().contains(&second) {
///     tokio::task::yield_now().await;
/// }
/// assert_eq!(informer.lister().len(), 2);
/// cancel.cancel();
/// task.await.unwrap();
/// # }
/// ```
pub trait ListerWatcher<K>: Send + Sync + 'static {
    /// The objects of the answers: `K`, `Arc<K>` if the source shares them already, or an [`Entry`].
    type Item: Into<Entry<K>> + Send;

    /// The changes, in the order in which they arrive.
    type Watch: Stream<Item = Result<WatchEvent<Self::Item>, Error>> + Send + Unpin;

    /// Reads one page of the collection.
    ///
    /// # Errors
    /// Any error of the request. The reflector reports it and tries again; the kind of the error decides when.
    fn list(
        &self,
        params: &ListParams,
    ) -> impl Future<Output = Result<ObjectList<Self::Item>, Error>> + Send;

    /// Opens a stream of changes.
    ///
    /// # Errors
    /// Any error of the request. The reflector reports it and tries again; the kind of the error decides when.
    fn watch(
        &self,
        params: &WatchParams,
    ) -> impl Future<Output = Result<Self::Watch, Error>> + Send;

    /// Whether [`watch`](Self::watch) can begin with the present state and mark its end by a bookmark
    /// ([`send_initial_events`](WatchParams::send_initial_events), KEP-3157). The default is `false`.
    ///
    /// If this returns `true` and the server does not support it after all, the reflector reads lists in pages.
    fn streams_lists(&self) -> bool {
        false
    }

    /// Whether the source has a list that is not older than `version`, and that costs it nothing. The default is `false`.
    #[doc(hidden)]
    fn has_list(&self, version: &str) -> bool {
        _ = version;
        false
    }

    /// Waits until a list that is not older than `version` can be requested; `""` means the newest version. It is called
    /// before the list takes a part of the budget. The default does not wait.
    #[doc(hidden)]
    fn prepare_list(&self, version: &str) -> impl Future<Output = ()> + Send {
        _ = version;
        std::future::ready(())
    }

    /// Ends the pause after a failed connection as soon as the source answers other requests again. The default is
    /// `None`: each pause takes its full time.
    fn reconnections(&self) -> Option<Reconnections> {
        None
    }

    /// Whether the objects come from the API server, with its resource versions. The default is `false`.
    ///
    /// Before its first reconcile a controller asks the API server whether a cache of such a source is up to date. It
    /// treats a cache of another source as up to date when the first list is complete.
    fn reads_api_server(&self) -> bool {
        false
    }

    /// The kind.
    fn resource(&self) -> &ApiResource;

    /// The namespace that the source reads; `None` for all namespaces, and for cluster-scoped kinds.
    fn namespace(&self) -> Option<&str>;
}
