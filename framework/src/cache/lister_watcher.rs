use futures_core::Stream;

use crate::{
    client::{Error, ListParams, ObjectList, WatchEvent, WatchParams},
    resource::ApiResource,
};

/// Where a cache gets its objects from: an API server, or something that stands in for one.
///
/// Both calls are cancelled by dropping them.
pub trait ListerWatcher<K>: Send + Sync + 'static {
    /// The changes, as they come.
    type Watch: Stream<Item = Result<WatchEvent<K>, Error>> + Send + Unpin;

    /// Gives one page of the collection.
    fn list(
        &self,
        params: &ListParams,
    ) -> impl Future<Output = Result<ObjectList<K>, Error>> + Send;

    /// Opens a stream of changes.
    fn watch(
        &self,
        params: &WatchParams,
    ) -> impl Future<Output = Result<Self::Watch, Error>> + Send;

    /// The kind.
    fn resource(&self) -> &ApiResource;

    /// The namespace that is read; `None` for all of them, and for cluster-scoped kinds.
    fn namespace(&self) -> Option<&str>;
}
