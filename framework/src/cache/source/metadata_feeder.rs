use std::sync::Arc;

use super::metadata_feed::{FeedBatch, MetadataFeed, SharedEvent, SharedSnapshot};
use crate::{
    cache::{BatchInfo, Event, EventOrigin, Lister, Snapshot, listener::EventHandler},
    client::Change,
    resource::Object,
};

/// The listener of an informer of whole objects that writes a [`MetadataFeed`].
pub(in crate::cache) struct MetadataFeeder<K> {
    feed: Arc<MetadataFeed>,
    lister: Lister<K>,
    /// The changes of the present batch. `None` if the cache changed in another way than by them alone.
    events: Option<Vec<SharedEvent>>,
}

impl<K: Object> MetadataFeeder<K> {
    /// Writes what happens in the cache that `lister` reads.
    pub(in crate::cache) fn new(feed: Arc<MetadataFeed>, lister: Lister<K>) -> Self {
        Self {
            feed,
            lister,
            events: Some(Vec::new()),
        }
    }
}

impl<K: Object> EventHandler<K> for MetadataFeeder<K> {
    fn handle(&mut self, event: &Event<K>, origin: EventOrigin) {
        if origin == EventOrigin::Watch
            && let Some(events) = &mut self.events
        {
            match shared(event) {
                Some(event) => events.push(event),
                None => self.events = None,
            }
        }
    }

    fn initial_list_delivered(&mut self, is_listing: bool) {
        if let Some(snapshot) = usable(&self.lister.snapshot(), is_listing) {
            self.feed.synced(snapshot);
        }
    }

    fn batch_delivered(&mut self, snapshot: &Snapshot<K>, info: BatchInfo) {
        let events = self.events.replace(Vec::new());
        if info.went_back {
            // Equal versions may have different content now. Only the server can tell the other cache so.
            return self.feed.end();
        }
        self.feed.push(FeedBatch {
            events: events.filter(|_| !info.listed),
            snapshot: usable(snapshot, info.is_listing),
        });
    }
}

impl<K> Drop for MetadataFeeder<K> {
    fn drop(&mut self) {
        self.feed.end();
    }
}

/// The state, if a reader may begin with it. During a list it has objects that are newer than its version.
fn usable<K: Object>(snapshot: &Snapshot<K>, is_listing: bool) -> Option<Arc<dyn SharedSnapshot>> {
    let is_usable = !is_listing && snapshot.resource_version().is_some();
    is_usable.then(|| Arc::new(snapshot.clone()) as Arc<dyn SharedSnapshot>)
}

/// The change. Returns `None` if its version is not known, or if the object cannot be shared.
fn shared<K: Object>(event: &Event<K>) -> Option<SharedEvent> {
    let change = match event {
        Event::Added { .. } => Change::Added,
        Event::Updated { .. } | Event::Recreated { .. } => Change::Modified,
        Event::Deleted {
            final_state_known: true,
            ..
        } => Change::Deleted,
        Event::Deleted { .. } | Event::Resync { .. } => return None,
    };
    let object = event.entry().shared()?;
    Some(match change {
        // Nobody else has the final state.
        Change::Deleted => SharedEvent::Changed(change, object.metadata_alone()),
        Change::Added | Change::Modified => SharedEvent::Changed(change, object),
    })
}
