use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};

use super::ListerWatcher;
use crate::{
    cache::{Entry, entry::EncodedCache},
    client::{
        Api, Change, Error, ListParams, ObjectList, Received, Reconnections, WatchEvent,
        WatchParams, WatchStream,
    },
    resource::{ApiResource, Object},
};

/// The API server, whose objects a cache stores as they come. They are decoded when they are read, and small ones at once.
pub(in crate::cache) struct EncodedSource<K> {
    pub(in crate::cache) api: Api<K>,
    /// `None` to decode each object when it comes.
    pub(in crate::cache) cache: Option<Arc<EncodedCache<K>>>,
}

impl<K: Object + Serialize + DeserializeOwned> ListerWatcher<K> for EncodedSource<K> {
    type Item = Entry<K>;
    type Watch = WatchStream<Entry<K>>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Entry<K>>, Error> {
        let Some(cache) = &self.cache else {
            let list = self.api.list_shared(params).await?;
            return Ok(with_items(list, Entry::from));
        };
        let list = self.api.list_for_cache(params).await?;
        Ok(with_items(list, |object| cache.entry(object)))
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        let Some(cache) = self.cache.clone() else {
            let events = self.api.watch_shared(params).await?;
            return Ok(WatchStream::new(
                events.map_ok(|event| event.map(Entry::from)),
            ));
        };
        let events = self.api.watch_for_cache(params).await?;
        let events = events.map_ok(move |event| entry_of(&cache, event));
        Ok(WatchStream::new(events))
    }

    fn streams_lists(&self) -> bool {
        self.api.streams_lists()
    }

    fn reconnections(&self) -> Option<Reconnections> {
        ListerWatcher::reconnections(&self.api)
    }

    fn reads_api_server(&self) -> bool {
        self.api.reads_api_server()
    }

    fn resource(&self) -> &ApiResource {
        Api::resource(&self.api)
    }

    fn namespace(&self) -> Option<&str> {
        Api::namespace(&self.api)
    }
}

fn with_items<T, K>(list: ObjectList<T>, entry: impl FnMut(T) -> Entry<K>) -> ObjectList<Entry<K>> {
    ObjectList {
        metadata: list.metadata,
        items: list.items.into_iter().map(entry).collect(),
        undecodable: list.undecodable,
    }
}

/// The final state of an object is decoded at once: the cache does not store it, and whether it decodes decides what the
/// listeners receive.
fn entry_of<K: Object>(
    cache: &Arc<EncodedCache<K>>,
    event: WatchEvent<Received<K>>,
) -> WatchEvent<Entry<K>> {
    match event {
        WatchEvent::Deleted(Received::Bytes(bytes)) => match cache.decode_now(&bytes) {
            Ok(object) => WatchEvent::Deleted(object.into()),
            Err(object) => WatchEvent::Undecodable {
                change: Change::Deleted,
                object: *object,
            },
        },
        event => event.map(|object| cache.entry(object)),
    }
}
