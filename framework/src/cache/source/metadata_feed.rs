use std::{cmp::Ordering, collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

use crate::{
    cache::{RealFifo, Snapshot, entry::SharedObject, resource_version::compare},
    client::{Change, ObjectList},
    resource::Object,
};

/// What an informer of whole objects has for an informer of their metadata: a list, and then the changes that follow it
/// without a gap.
///
/// The other informer writes, and never waits. One reader reads. The changes that wait are bounded, as those of a cache are: if the
/// reader is too slow, it begins with a list again.
pub(in crate::cache) struct MetadataFeed {
    content: Mutex<FeedContent>,
    /// Wakes the reader.
    changed: Notify,
}

struct FeedContent {
    state: FeedState,
    /// When something was written last.
    written: Instant,
}

enum FeedState {
    /// The other informer reads a list.
    Listing,
    /// The reader may begin with this list. Each change replaces it.
    Listed(Arc<dyn SharedSnapshot>),
    /// The reader has a list, and these are the changes since then.
    Following(WaitingEvents),
    /// The other informer has ended, or cannot tell what happened.
    Ended,
}

/// Changes that the reader has not read.
struct WaitingEvents {
    events: VecDeque<SharedEvent>,
    bytes: usize,
    /// The version that the reader has after all of them.
    version: String,
    /// The version that the reader has now.
    read: String,
}

/// What happened to a cache.
pub(in crate::cache) enum SharedEvent {
    Changed(Change, SharedObject),
    /// Nothing else has happened up to this version.
    Reached(String),
}

/// A [`Snapshot`] of any type.
pub(super) trait SharedSnapshot: Send + Sync {
    fn resource_version(&self) -> &str;

    /// The objects. `None` if one of them cannot be shared.
    fn objects(&self) -> Option<Vec<SharedObject>>;
}

/// What a batch of changes did to a cache.
pub(super) struct FeedBatch {
    /// `None` if the cache changed in another way than by these events alone.
    pub(super) events: Option<Vec<SharedEvent>>,
    /// The state after the batch. `None` while a list is in progress.
    pub(super) snapshot: Option<Arc<dyn SharedSnapshot>>,
}

/// What the reader of a feed finds.
pub(super) enum FeedPoll {
    Event(SharedEvent),
    /// Nothing yet.
    Wait,
    /// The reader must begin with a list.
    List,
    Ended,
}

impl MetadataFeed {
    pub(super) const BOUND: usize = RealFifo::<()>::BOUND;
    pub(super) const BOUND_BYTES: usize = RealFifo::<()>::BOUND_BYTES;

    pub(super) fn new() -> Self {
        let content = FeedContent {
            state: FeedState::Listing,
            written: Instant::now(),
        };
        Self {
            content: Mutex::new(content),
            changed: Notify::new(),
        }
    }

    /// The other informer has applied a batch of changes.
    pub(super) fn push(&self, batch: FeedBatch) {
        self.write(|state| match (state, batch.events) {
            (FeedState::Ended, _) => None,
            (FeedState::Following(waiting), Some(events)) if waiting.have_room_for(&events) => {
                waiting.extend(events, batch.snapshot.as_deref());
                None
            }
            _ => Some(batch.snapshot.map_or(FeedState::Listing, FeedState::Listed)),
        });
    }

    /// The other informer has synced, or had synced before it began to write.
    pub(super) fn synced(&self, snapshot: Arc<dyn SharedSnapshot>) {
        self.write(|state| match state {
            FeedState::Listing => Some(FeedState::Listed(snapshot)),
            _ => None,
        });
    }

    /// The other informer has ended, or cannot tell what happened.
    pub(super) fn end(&self) {
        self.write(|_| Some(FeedState::Ended));
    }

    /// Changes the state to the one that `next` returns, and wakes the reader.
    fn write(&self, next: impl FnOnce(&mut FeedState) -> Option<FeedState>) {
        let mut content = self.content.lock();
        content.written = Instant::now();
        let next = next(&mut content.state);
        let replaced = next.map(|next| std::mem::replace(&mut content.state, next));
        drop(content);
        // The objects are dropped outside of the lock.
        drop(replaced);
        self.changed.notify_one();
    }

    /// For how long nothing was written.
    pub(super) fn silent_for(&self) -> Duration {
        self.content.lock().written.elapsed()
    }

    /// Whether the feed has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.content.lock().state, FeedState::Ended)
    }

    /// Whether the reader may begin with a list that is not older than `version`.
    pub(super) fn has_list(&self, version: &str) -> bool {
        match &self.content.lock().state {
            FeedState::Listed(snapshot) => is_at_least(snapshot.resource_version(), version),
            _ => false,
        }
    }

    /// Begins with a list that is not older than `version`. Returns `None` if there is no such list, or if an object of it cannot be
    /// shared.
    pub(super) fn take_list(&self, version: &str) -> Option<ObjectList<SharedObject>> {
        let mut content = self.content.lock();
        let snapshot = match &content.state {
            FeedState::Listed(snapshot) => snapshot.clone(),
            _ => return None,
        };
        let listed = snapshot.resource_version().to_owned();
        if !is_at_least(&listed, version) {
            return None;
        }
        content.state = FeedState::Following(WaitingEvents {
            events: VecDeque::new(),
            bytes: 0,
            version: listed.clone(),
            read: listed.clone(),
        });
        drop(content);
        let mut list = ObjectList {
            items: snapshot.objects()?,
            ..ObjectList::default()
        };
        list.metadata.resource_version = Some(listed);
        Some(list)
    }

    /// The next change.
    pub(super) fn poll(&self) -> FeedPoll {
        match &mut self.content.lock().state {
            FeedState::Listing => FeedPoll::Wait,
            FeedState::Listed(_) => FeedPoll::List,
            FeedState::Following(waiting) => waiting.pop().map_or(FeedPoll::Wait, FeedPoll::Event),
            FeedState::Ended => FeedPoll::Ended,
        }
    }

    /// The version that the reader has, if it may go on from there.
    pub(super) fn reader_version(&self) -> Option<String> {
        match &self.content.lock().state {
            FeedState::Following(waiting) => Some(waiting.read.clone()),
            _ => None,
        }
    }

    /// Waits until something has changed since the last call. Losing the future loses nothing.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl WaitingEvents {
    fn have_room_for(&self, events: &[SharedEvent]) -> bool {
        let bytes: usize = events.iter().map(SharedEvent::size).sum();
        // One that is too large for any bound must pass, too.
        let fit = self.bytes + bytes <= MetadataFeed::BOUND_BYTES || self.events.is_empty();
        fit && self.events.len() + events.len() <= MetadataFeed::BOUND
    }

    /// Adds the changes that led to `snapshot`.
    fn extend(&mut self, events: Vec<SharedEvent>, snapshot: Option<&dyn SharedSnapshot>) {
        self.bytes += events.iter().map(SharedEvent::size).sum::<usize>();
        self.events.extend(events);
        if let Some(last) = self.events.back().and_then(SharedEvent::version)
            && is_newer(last, &self.version)
        {
            self.version = last.to_owned();
        }
        let reached = snapshot.map(SharedSnapshot::resource_version);
        if let Some(reached) = reached.filter(|reached| is_newer(reached, &self.version)) {
            if let Some(SharedEvent::Reached(_)) = self.events.back() {
                self.events.pop_back();
            }
            self.version = reached.to_owned();
            self.events
                .push_back(SharedEvent::Reached(reached.to_owned()));
        }
    }

    fn pop(&mut self) -> Option<SharedEvent> {
        let event = self.events.pop_front()?;
        self.bytes -= event.size();
        if let Some(version) = event.version() {
            version.clone_into(&mut self.read);
        }
        Some(event)
    }
}

impl SharedEvent {
    fn version(&self) -> Option<&str> {
        match self {
            Self::Changed(_, object) => object.resource_version(),
            Self::Reached(version) => Some(version),
        }
    }

    /// Bytes of an object that is not decoded.
    fn size(&self) -> usize {
        match self {
            Self::Changed(_, object) => object.size(),
            Self::Reached(_) => 0,
        }
    }
}

fn is_newer(version: &str, other: &str) -> bool {
    compare(version, other) == Some(Ordering::Greater)
}

/// Whether a list of `version` answers a request for nothing older than `wanted`. `"0"` means any version.
fn is_at_least(version: &str, wanted: &str) -> bool {
    wanted == "0"
        || matches!(
            compare(version, wanted),
            Some(Ordering::Equal | Ordering::Greater)
        )
}

impl<K: Object> SharedSnapshot for Snapshot<K> {
    fn resource_version(&self) -> &str {
        self.resource_version().unwrap_or_default()
    }

    fn objects(&self) -> Option<Vec<SharedObject>> {
        self.iter().map(|(_, entry)| entry.shared()).collect()
    }
}
