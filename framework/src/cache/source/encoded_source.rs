use std::{future::ready, sync::Arc};

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    sync::watch,
    task::yield_now,
    time::{Duration, sleep},
};

use super::{
    SharedWatch,
    metadata_feed::SharedEvent,
    shared_watch::{SharedStart, SharedStep},
};
use crate::{
    cache::{
        Entry, ListerWatcher,
        entry::{EncodedCache, SharedObject},
    },
    client::{
        Api, Change, Error, ListParams, ObjectList, Received, Reconnections, WatchEvent,
        WatchParams, WatchStream,
    },
    resource::{ApiResource, Object, Status, Undecodable},
};

/// The API server, whose objects a cache stores as they come. They are decoded when they are read. Small ones are decoded at once if the program reads each object.
pub(in crate::cache) struct EncodedSource<K> {
    pub(in crate::cache) api: Api<K>,
    /// `None` to decode each object when it comes.
    pub(in crate::cache) cache: Option<Arc<EncodedCache<K>>>,
    /// The informer that is read in place of the API server, if there is one. `None` if the objects are more than metadata.
    pub(in crate::cache) shared: Option<Arc<SharedWatch>>,
}

impl<K: Object + Serialize + DeserializeOwned> EncodedSource<K> {
    /// After so many objects of a shared list, which take less than a millisecond, other tasks may run.
    const YIELD: usize = 256;

    /// Watches the API server.
    async fn watch_server(&self, params: &WatchParams) -> Result<WatchStream<Entry<K>>, Error> {
        let Some(cache) = self.cache.clone() else {
            let events = self.api.watch_shared(params).await?;
            return Ok(WatchStream::new(
                events.map_ok(|event| event.map(Entry::from)),
            ));
        };
        let events = self
            .api
            .watch_for_cache(params, decodes_small(&cache))
            .await?;
        let events = events.map_ok(move |event| entry_of(&cache, event));
        Ok(WatchStream::new(events))
    }

    /// What is read in place of the API server. No code for it is built for types that are more than metadata.
    fn shared(&self) -> Option<(&Arc<SharedWatch>, &Arc<EncodedCache<K>>)> {
        match K::METADATA_ONLY {
            true => Some((self.shared.as_ref()?, self.cache.as_ref()?)),
            false => None,
        }
    }

    /// The list of the other informer, if there is one that answers the request.
    async fn shared_list(&self, params: &ListParams) -> Option<ObjectList<Entry<K>>> {
        let (shared, cache) = self.shared()?;
        let list = shared.list(params.resource_version.as_deref()?)?;
        let mut entries = ObjectList {
            metadata: list.metadata,
            ..ObjectList::default()
        };
        for (number, object) in list.items.iter().enumerate() {
            if number % Self::YIELD == Self::YIELD - 1 {
                yield_now().await;
            }
            match shared_entry(cache, Api::resource(&self.api), object) {
                Ok(entry) => entries.items.push(entry),
                Err(object) => entries.undecodable.push(*object),
            }
        }
        Some(entries)
    }

    /// Watches the API server until the other informer has a list that is as new.
    async fn watch_server_until_shared(
        &self,
        shared: &Arc<SharedWatch>,
        params: &WatchParams,
    ) -> Result<WatchStream<Entry<K>>, Error> {
        // Empty while a list is read: it is read to its end.
        let version = params.resource_version.clone();
        let version = version.filter(|_| !params.send_initial_events);
        let (reached, seen) = watch::channel(version.unwrap_or_default());
        let events = self.watch_server(params).await?;
        let shared = shared.clone();
        let offers = Box::pin(async move { shared.offers_list(seen).await });
        let expired = self.expired();
        let state = (events, offers, reached);
        let events = stream::unfold(state, |(mut events, mut offers, reached)| async {
            let event = tokio::select! {
                biased;
                event = events.next() => Some(event?),
                () = &mut offers => None,
            };
            if let Some(event) = &event {
                reached.send_modify(|reached| note_version(reached, event));
            }
            Some((event, (events, offers, reached)))
        });
        Ok(until_list(events, expired))
    }

    /// The error that tells the reflector that only a list helps.
    fn expired(&self) -> Error {
        let resource = Api::resource(&self.api);
        let message = "the informer of the whole objects has a newer list";
        let status = Status {
            reason: "Expired".into(),
            ..Status::from_code(410, message)
        };
        Error::api("watch", resource.qualified_plural(), status)
    }
}

impl<K: Object + Serialize + DeserializeOwned> ListerWatcher<K> for EncodedSource<K> {
    type Item = Entry<K>;
    type Watch = WatchStream<Entry<K>>;

    async fn list(&self, params: &ListParams) -> Result<ObjectList<Entry<K>>, Error> {
        let Some(cache) = &self.cache else {
            let list = self.api.list_shared(params).await?;
            return Ok(with_items(list, Entry::from));
        };
        if let Some(list) = self.shared_list(params).await {
            return Ok(list);
        }
        let list = self
            .api
            .list_for_cache(params, decodes_small(cache))
            .await?;
        Ok(with_items(list, |object| cache.entry(object)))
    }

    async fn watch(&self, params: &WatchParams) -> Result<Self::Watch, Error> {
        let Some((shared, cache)) = self.shared() else {
            return self.watch_server(params).await;
        };
        if params.send_initial_events {
            // A list of the API server: somebody asked for it, or the other informer has none.
            shared.close();
            return self.watch_server_until_shared(shared, params).await;
        }
        let version = params.resource_version.as_deref().unwrap_or_default();
        match shared.watch(version) {
            SharedStart::List => Err(self.expired()),
            SharedStart::Server => self.watch_server_until_shared(shared, params).await,
            SharedStart::Follow(steps) => {
                let time = sleep(params.timeout.unwrap_or(Duration::MAX));
                let (cache, resource) = (cache.clone(), Api::resource(&self.api).clone());
                let events = steps.take_until(time).map(move |step| match step {
                    SharedStep::Event(event) => Some(Ok(shared_event(&cache, &resource, event))),
                    SharedStep::List => None,
                });
                Ok(until_list(events, self.expired()))
            }
        }
    }

    fn streams_lists(&self) -> bool {
        !self.has_list("0") && self.api.streams_lists()
    }

    fn has_list(&self, version: &str) -> bool {
        let shared = self.shared();
        shared.is_some_and(|(shared, _)| shared.has_list(version))
    }

    async fn prepare_list(&self, version: &str) {
        if let Some((shared, _)) = self.shared() {
            shared.prepare_list(version).await;
        }
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

/// Whether small objects are decoded at once, whenever it is asked.
fn decodes_small<K: Object>(
    cache: &Arc<EncodedCache<K>>,
) -> impl Fn() -> bool + Send + Sync + use<K> {
    let cache = cache.clone();
    move || cache.expects_reads()
}

fn with_items<T, K>(list: ObjectList<T>, entry: impl FnMut(T) -> Entry<K>) -> ObjectList<Entry<K>> {
    ObjectList {
        metadata: list.metadata,
        items: list.items.into_iter().map(entry).collect(),
        undecodable: list.undecodable,
    }
}

/// Changes the version that a watch has reached to the one after an event.
fn note_version<K: Object>(reached: &mut String, event: &Result<WatchEvent<Entry<K>>, Error>) {
    let (version, ends_list) = match event {
        Ok(WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        }) => (Some(&**resource_version), *initial_events_end),
        Ok(
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object),
        ) => (object.resource_version(), false),
        Ok(WatchEvent::Undecodable { object, .. }) => (object.resource_version.as_deref(), false),
        Err(_) => (None, false),
    };
    if let Some(version) = version.filter(|_| ends_list || !reached.is_empty()) {
        version.clone_into(reached);
    }
}

/// The events up to the first `None`, which means that only a list helps.
fn until_list<K: Send + 'static>(
    events: impl Stream<Item = Option<Result<WatchEvent<K>, Error>>> + Send + 'static,
    expired: Error,
) -> WatchStream<K> {
    WatchStream::new(events.scan(Some(expired), |expired, event| {
        ready(event.or_else(|| expired.take().map(Err)))
    }))
}

/// The metadata of an object of another cache, as this cache stores them.
///
/// # Errors
/// The readable parts of the object, if its metadata cannot be read.
fn shared_entry<K: Object + DeserializeOwned>(
    cache: &Arc<EncodedCache<K>>,
    resource: &ApiResource,
    object: &SharedObject,
) -> Result<Entry<K>, Box<Undecodable>> {
    let metadata = match object {
        SharedObject::Encoded(object) => object
            .get()
            .metadata_object(resource, cache.expects_reads()),
        SharedObject::Decoded(object) => {
            Received::of_metadata(object.metadata(), resource, cache.expects_reads())
        }
    };
    metadata.map(|object| cache.entry(object))
}

/// The change as this cache stores it.
fn shared_event<K: Object + DeserializeOwned>(
    cache: &Arc<EncodedCache<K>>,
    resource: &ApiResource,
    event: SharedEvent,
) -> WatchEvent<Entry<K>> {
    let (change, object) = match event {
        SharedEvent::Changed(change, object) => (change, object),
        SharedEvent::Reached(resource_version) => {
            return WatchEvent::Bookmark {
                resource_version,
                initial_events_end: false,
            };
        }
    };
    match (shared_entry(cache, resource, &object), change) {
        (Ok(entry), Change::Added) => WatchEvent::Added(entry),
        (Ok(entry), Change::Modified) => WatchEvent::Modified(entry),
        (Ok(entry), Change::Deleted) => WatchEvent::Deleted(entry),
        (Err(object), change) => WatchEvent::Undecodable {
            change,
            object: *object,
        },
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
