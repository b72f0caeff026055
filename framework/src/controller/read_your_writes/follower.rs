use std::sync::Weak;

use super::{demand::Change, writes::Inner};
use crate::{
    cache::{Event, Follow, Reached, Snapshot},
    queue::Note,
    resource::{Object, ObjectKey},
};

/// Tells what is waited for what an informer hears.
pub(super) struct Follower<N: Note> {
    pub(super) informer: usize,
    /// The informer may live longer than the controller.
    pub(super) writes: Weak<Inner<N>>,
}

impl<C: Object, N: Note> Follow<C> for Follower<N> {
    fn hear(&mut self, event: &Event<C>) {
        let Some(writes) = self.writes.upgrade() else {
            return;
        };
        if !writes.shared.wants(self.informer) {
            return;
        }
        let tell =
            |key: &ObjectKey, change: Change<'_>| writes.shared.heard(self.informer, key, change);
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
        if let Some(writes) = self.writes.upgrade() {
            writes.reached(self.informer, how);
        }
    }
}
