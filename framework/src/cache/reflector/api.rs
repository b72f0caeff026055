use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::ListerWatcher;
use crate::{
    client::{Api, Error, ListParams, ObjectList, Reconnections, WatchParams, WatchStream},
    resource::{ApiResource, Object, Reach},
};

/// The API server.
impl<K: Object + Serialize + DeserializeOwned, R: Reach> ListerWatcher<K> for Api<K, R> {
    type Item = Arc<K>;
    type Watch = WatchStream<Arc<K>>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Arc<K>>, Error> {
        self.list_shared(params).await
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        self.watch_shared(params).await
    }

    fn streams_lists(&self) -> bool {
        true
    }

    fn reconnections(&self) -> Option<Reconnections> {
        Some(self.client().reconnections())
    }

    fn reads_api_server(&self) -> bool {
        true
    }

    fn resource(&self) -> &ApiResource {
        Api::resource(self)
    }

    fn namespace(&self) -> Option<&str> {
        Api::namespace(self)
    }
}
