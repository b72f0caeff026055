use std::sync::Weak;

use super::{demand::Change, writes::Inner};
use crate::{
    cache::{Event, Follow, Reached, Snapshot},
    resource::{Object, ObjectKey},
};

/// Tells what is waited for what an informer hears.
pub(super) struct Follower {
    pub(super) informer: usize,
    /// The informer may live longer than the controller.
    pub(super) writes: Weak<Inner>,
}

impl<C: Object> Follow<C> for Follower {
    fn hear(&mut self, event: &Event<C>) {
        if !self.is_wanted() {
            return;
        }
        let tell = |key: &ObjectKey, change: Change<'_>| self.tell(key, change);
        let seen = |object: &C| {
            if let Some(version) = object.resource_version() {
                tell(&object.key(), Change::Seen(object.uid(), version));
            }
        };
        let deleted = |object: &C| {
            if let Some(uid) = object.uid() {
                tell(&object.key(), Change::Deleted(uid));
            }
        };
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => seen(object),
            Event::Recreated { old, new } => {
                deleted(old);
                seen(new);
            }
            Event::Deleted { object, .. } => deleted(object),
            Event::Undecodable { object, .. } => {
                if let Some(version) = &object.resource_version {
                    let uid = object.uid.as_deref();
                    tell(&object.key, Change::Seen(uid, version));
                }
            }
            Event::UndecodableDeleted { object } => {
                if let Some(uid) = &object.uid {
                    tell(&object.key, Change::Deleted(uid));
                }
            }
            _ => {}
        }
    }

    fn reached(&mut self, _: &Snapshot<C>, how: Reached) {
        self.tell_reached(how);
    }
}

impl Follower {
    fn is_wanted(&self) -> bool {
        let writes = self.writes.upgrade();
        writes.is_some_and(|writes| writes.shared.wants(self.informer))
    }

    fn tell(&self, key: &ObjectKey, change: Change<'_>) {
        if let Some(writes) = self.writes.upgrade() {
            writes.shared.heard(self.informer, key, change);
        }
    }

    fn tell_reached(&self, how: Reached) {
        if let Some(writes) = self.writes.upgrade() {
            writes.reached(self.informer, how);
        }
    }
}
