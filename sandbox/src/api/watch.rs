use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::Target;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::store::selector::Selection;
use crate::store::{Change, Encoded, Subscription};

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// With an ADDED event for every object, followed by the changes.
    State,
    /// With the changes from now on.
    Now,
    /// With the changes after a resource version.
    After(u64),
}

/// The parameters of a watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) selection: Selection,
    pub(crate) start: Start,
    /// Whether a bookmark marks the end of the initial state.
    pub(crate) initial_end: bool,
}

/// An event of a watch. Objects are as stored.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Added(Arc<Encoded>),
    Modified(Arc<Encoded>),
    Deleted(Arc<Encoded>),
    /// The watch has sent everything up to this resource version.
    Bookmark {
        version: u64,
        initial_end: bool,
    },
    /// The last event.
    Error(ApiError),
}

impl Event {
    /// The object, as stored.
    pub(super) fn object(&self) -> Option<&Arc<Encoded>> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => Some(object),
            Self::Bookmark { .. } | Self::Error(_) => None,
        }
    }

    /// Replaces the object, if there is one.
    pub(super) fn set_object(&mut self, new: impl FnOnce() -> Option<Arc<Encoded>>) {
        if let Self::Added(object) | Self::Modified(object) | Self::Deleted(object) = self
            && let Some(new) = new()
        {
            *object = new;
        }
    }
}

/// A running watch.
pub(crate) struct Watch {
    target: Target,
    selection: Selection,
    subscription: Subscription,
    ready: VecDeque<Event>,
    version: u64,
    finished: bool,
}

impl Watch {
    /// Opens a watch that begins with the state of `cached`, or the newest one. Returns `None` if the kind is no longer served.
    pub(crate) fn open(
        core: &Core,
        target: Target,
        request: WatchRequest,
        cached: Option<u64>,
    ) -> Option<Self> {
        let storage = target.storage();
        let mut ready = VecDeque::new();
        let version = match request.start {
            Start::After(version) => version,
            Start::Now => cached.unwrap_or_else(|| core.store.version()),
            Start::State => {
                let at = |version| {
                    core.store
                        .list_encoded(&storage, target.namespace.as_deref(), None, version)
                };
                // The state of a cache that was held back may be compacted.
                let snapshot = match at(cached)? {
                    Ok(snapshot) => snapshot,
                    Err(_) => at(None)?.ok()?,
                };
                let objects = snapshot.entries.into_iter().map(|(_, object)| object);
                ready.extend(
                    objects
                        .filter(|object| request.selection.selects(object))
                        .map(Event::Added),
                );
                if request.initial_end {
                    ready.push_back(Event::Bookmark {
                        version: snapshot.version,
                        initial_end: true,
                    });
                }
                snapshot.version
            }
        };
        Some(Self {
            subscription: core.store.watch(&storage, version)?,
            selection: request.selection,
            target,
            ready,
            version,
            finished: false,
        })
    }

    /// Makes the watch send this error and end.
    pub(crate) fn fail(&mut self, error: ApiError) {
        self.ready = VecDeque::from([Event::Error(error)]);
        self.finished = true;
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The resource version up to which the watch has sent everything.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// At most `limit` events that are available now, possibly none, and none after the resource version `until`. Returns `None` at the end of
    /// the stream.
    pub(crate) fn take(&mut self, limit: usize, until: Option<u64>) -> Option<Vec<Event>> {
        if !self.ready.is_empty() {
            let count = self.ready.len().min(limit);
            return Some(self.ready.drain(..count).collect());
        }
        if self.finished {
            return None;
        }
        loop {
            match self.subscription.take_until(until)? {
                Ok(batch) => {
                    let events: Vec<Event> = batch
                        .changes
                        .iter()
                        .filter_map(|change| self.event(change))
                        .collect();
                    self.version = self.version.max(batch.version);
                    // A batch without events for this watch may be followed by others: wait only when the batch is
                    // empty.
                    if !events.is_empty() || batch.changes.is_empty() {
                        return Some(events);
                    }
                }
                Err(compacted) => {
                    self.finished = true;
                    let message = format!(
                        "too old resource version: {} ({})",
                        self.version, compacted.oldest
                    );
                    return Some(vec![Event::Error(ApiError::expired(message))]);
                }
            }
        }
    }

    /// Waits until there may be more events. Returns `false` once the kind is no longer served.
    pub(crate) async fn changed(&mut self) -> bool {
        self.subscription.changed().await
    }

    /// The event for a change. Returns `None` if the watch does not select the object.
    fn event(&self, change: &Change) -> Option<Event> {
        if !change.key.is_in(self.target.namespace.as_deref()) {
            return None;
        }
        let selects = |object: &&Arc<Encoded>| self.selection.selects(object);
        let before = change.before.as_ref().filter(selects);
        let after = change.after.as_ref().filter(selects);
        match (before, after) {
            (None, Some(after)) => Some(Event::Added(after.clone())),
            (Some(_), Some(after)) => Some(Event::Modified(after.clone())),
            (None, None) => None,
            // Deleted, or changed so that the watch no longer selects it: the last selected state, at the version of
            // the change.
            (Some(before), None) => Some(Event::Deleted(match &change.deleted {
                Some(deleted) if self.selection.selects(deleted) => deleted.clone(),
                _ => {
                    let mut last = Value::clone(&before.value());
                    meta::set(&mut last, "resourceVersion", change.version.to_string());
                    Arc::new(Encoded::new(change.version, &Arc::new(last)))
                }
            })),
        }
    }
}
