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

    /// Whether [`watch`](Self::watch) can begin with the present state and mark its end by a bookmark
    /// ([`send_initial_events`](WatchParams::send_initial_events), KEP-3157). The default is no.
    ///
    /// Where it is yes and the server turns out not to know how, lists are read in pages all the same.
    fn streams_lists(&self) -> bool {
        false
    }

    /// The kind.
    fn resource(&self) -> &ApiResource;

    /// The namespace that is read; `None` for all of them, and for cluster-scoped kinds.
    fn namespace(&self) -> Option<&str>;
}
