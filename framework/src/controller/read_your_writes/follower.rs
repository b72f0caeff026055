use std::sync::Weak;

use super::{demand::CacheChange, writes::Inner};
use crate::{
    cache::{BatchInfo, CacheObserver, Entry, Event, Snapshot},
    resource::{Object, ObjectKey},
};

/// Reports the events of an informer to the core.
pub(super) struct Follower {
    pub(super) informer: usize,
    /// Weak, because the informer may outlive the controller.
    pub(super) writes: Weak<Inner>,
}

impl<C: Object> CacheObserver<C> for Follower {
    fn on_event(&mut self, event: &Event<C>) {
        if !self.is_wanted() {
            return;
        }
        let seen = |object: &Entry<C>| {
            if let Some(version) = object.resource_version() {
                self.tell(&object.key(), CacheChange::Seen(object.uid(), version));
            }
        };
        let deleted = |object: &Entry<C>| {
            if let Some(uid) = object.known_uid() {
                self.tell(&object.key(), CacheChange::Deleted(uid));
            }
        };
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => seen(object),
            Event::Recreated { old, new } => {
                deleted(old);
                seen(new);
            }
            Event::Deleted { object, .. } => deleted(object),
            Event::Resync { .. } => {}
        }
    }

    fn on_batch(&mut self, _: &Snapshot<C>, how: BatchInfo) {
        self.tell_reached(how);
    }
}

impl Follower {
    fn is_wanted(&self) -> bool {
        let writes = self.writes.upgrade();
        writes.is_some_and(|writes| writes.shared.wants(self.informer))
    }

    fn tell(&self, key: &ObjectKey, change: CacheChange<'_>) {
        if let Some(writes) = self.writes.upgrade() {
            writes.shared.heard(self.informer, key, change);
        }
    }

    fn tell_reached(&self, how: BatchInfo) {
        if let Some(writes) = self.writes.upgrade() {
            writes.reached(self.informer, how);
        }
    }
}
