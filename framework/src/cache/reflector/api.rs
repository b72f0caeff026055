use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};

use super::ListerWatcher;
use crate::{
    cache::{ReceivedObject, entry::AwakeObjects},
    client::{
        Api, DecodedArc, Error, ListParams, ObjectList, Reconnections, WatchParams, WatchStream,
    },
    resource::{ApiResource, Object, Reach},
};

/// The API server.
impl<K: Object + Serialize + DeserializeOwned, R: Reach> ListerWatcher<K> for Api<K, R> {
    type Item = ReceivedObject<K>;
    type Watch = WatchStream<ReceivedObject<K>>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Self::Item>, Error> {
        list(self, params, None).await
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        watch(self, params, None).await
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

/// The API server, for a cache that stores objects encoded.
pub(in crate::cache) struct EncodedSource<K> {
    pub(in crate::cache) api: Api<K>,
    /// `None` if the cache stores the objects decoded.
    pub(in crate::cache) awake: Option<Arc<AwakeObjects<K>>>,
}

impl<K: Object + Serialize + DeserializeOwned> ListerWatcher<K> for EncodedSource<K> {
    type Item = ReceivedObject<K>;
    type Watch = WatchStream<ReceivedObject<K>>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Self::Item>, Error> {
        list(&self.api, params, self.awake.as_ref()).await
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        watch(&self.api, params, self.awake.as_ref()).await
    }

    fn streams_lists(&self) -> bool {
        true
    }

    fn reconnections(&self) -> Option<Reconnections> {
        self.api.reconnections()
    }

    fn reads_api_server(&self) -> bool {
        true
    }

    fn resource(&self) -> &ApiResource {
        self.api.resource()
    }

    fn namespace(&self) -> Option<&str> {
        self.api.namespace()
    }
}

async fn list<K: Object + Serialize + DeserializeOwned, R>(
    api: &Api<K, R>,
    params: &ListParams,
    awake: Option<&Arc<AwakeObjects<K>>>,
) -> Result<ObjectList<ReceivedObject<K>>, Error> {
    let list = api.list_shared(params, awake.is_some()).await?;
    let items = list.items.into_iter();
    Ok(ObjectList {
        metadata: list.metadata,
        items: items.map(|item| received(item, awake)).collect(),
        undecodable: list.undecodable,
    })
}

async fn watch<K: Object + Serialize + DeserializeOwned, R>(
    api: &Api<K, R>,
    params: &WatchParams,
    awake: Option<&Arc<AwakeObjects<K>>>,
) -> Result<WatchStream<ReceivedObject<K>>, Error> {
    let events = api.watch_shared(params, awake.is_some()).await?;
    let awake = awake.cloned();
    let events = events.map_ok(move |event| event.map(|item| received(item, awake.as_ref())));
    Ok(WatchStream::new(events))
}

fn received<K: Object>(
    item: DecodedArc<K>,
    awake: Option<&Arc<AwakeObjects<K>>>,
) -> ReceivedObject<K> {
    let packed = awake.zip(item.encoded);
    ReceivedObject {
        packed: packed.and_then(|(awake, encoded)| awake.pack(&item.object, encoded)),
        object: item.object,
    }
}
