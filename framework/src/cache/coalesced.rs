use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::Event;
use crate::resource::{Object, ObjectKey};

/// Events that wait for a slow listener: of each object at most one.
///
/// A second event of an object takes the place of the first, in its place of the order, and tells
/// what both together are to someone who heard of neither:
///
/// * the old version is that of the first, the new one that of the last;
/// * what came and went again is not told at all;
/// * what went and came again is [`Event::Recreated`], or [`Event::Updated`] if it is the same object
///   (by UID), or nothing if it is the same version;
/// * what was replaced and then went is the deletion of the object that was known before;
/// * a resync is nothing beside a change.
///
/// So it holds no more events than there are objects that are known or were known to the listener,
/// however many happen.
pub(super) struct Coalesced<K> {
    pending: HashMap<ObjectKey, Pending<K>>,
    order: BTreeMap<u64, ObjectKey>,
    next: u64,
    /// What the listener knows only as undecodable: an addition to that is no news of an object.
    undecodable: HashSet<ObjectKey>,
}

struct Pending<K> {
    place: u64,
    event: Event<K>,
    /// Whether the listener was told of the object before.
    known: bool,
    /// The version that the listener was told last, if that one decoded.
    before: Option<Arc<K>>,
    initial: bool,
}

impl<K: Object> Coalesced<K> {
    pub(super) fn new() -> Self {
        Self {
            pending: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
            undecodable: HashSet::new(),
        }
    }

    /// Takes in what was there before the listener came.
    pub(super) fn begin(&mut self, event: &Event<K>) {
        let mut pending = Pending::first(self.next, event, false);
        // It has not been told of the last version that did decode.
        (pending.known, pending.before) = (false, None);
        self.insert(event.key(), pending);
    }

    /// Takes in an event; answers whether it was merged with one that waited.
    pub(super) fn push(&mut self, event: &Event<K>) -> bool {
        let key = event.key();
        if let Some(pending) = self.pending.get_mut(&key) {
            match pending.merged(event) {
                Some(event) => pending.event = event,
                None => {
                    let place = pending.place;
                    self.pending.remove(&key);
                    self.order.remove(&place);
                }
            }
            return true;
        }
        let was_undecodable = self.undecodable.contains(&key);
        let pending = Pending::first(self.next, event, was_undecodable);
        self.insert(key, pending);
        false
    }

    fn insert(&mut self, key: ObjectKey, pending: Pending<K>) {
        self.order.insert(self.next, key.clone());
        self.pending.insert(key, pending);
        self.next += 1;
    }

    /// The event whose object waits longest.
    pub(super) fn pop(&mut self) -> Option<Event<K>> {
        let (_, key) = self.order.pop_first()?;
        let event = self.pending.remove(&key)?.event;
        if let Event::Undecodable { .. } = event {
            self.undecodable.insert(key);
        } else {
            self.undecodable.remove(&key);
        }
        if self.pending.is_empty() {
            // What a burst needed is given back.
            self.pending.shrink_to(64);
        }
        Some(event)
    }

    /// How many events wait.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// A mark behind all that waits now.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    /// Whether all that was taken in before `mark` has been taken out.
    pub(super) fn is_past(&self, mark: u64) -> bool {
        let first = self.order.first_key_value();
        first.is_none_or(|(place, _)| *place >= mark)
    }
}

impl<K: Object> Pending<K> {
    fn first(place: u64, event: &Event<K>, was_undecodable: bool) -> Self {
        let before = match event {
            Event::Added { .. } | Event::UndecodableDeleted { .. } => None,
            Event::Updated { old, .. } | Event::Recreated { old, .. } => Some(old.clone()),
            Event::Deleted { object, .. } | Event::Resync { object } => Some(object.clone()),
            Event::Undecodable { last, .. } => last.clone(),
        };
        let is_deletion = matches!(event, Event::UndecodableDeleted { .. });
        Self {
            place,
            event: event.clone(),
            known: was_undecodable || is_deletion || before.is_some(),
            before,
            initial: matches!(event, Event::Added { initial: true, .. }),
        }
    }

    /// What this and then `next` are together; `None` if they are nothing.
    fn merged(&self, next: &Event<K>) -> Option<Event<K>> {
        let before = self.before.clone();
        match next {
            Event::Added { object: new, .. }
            | Event::Updated { new, .. }
            | Event::Recreated { new, .. } => {
                let new = new.clone();
                let Some(old) = before else {
                    let (object, initial) = (new, self.initial);
                    return Some(Event::Added { object, initial });
                };
                if old.uid() != new.uid() {
                    return Some(Event::Recreated { old, new });
                }
                let is_same = old.resource_version() == new.resource_version()
                    && new.resource_version().is_some();
                (!is_same).then_some(Event::Updated { old, new })
            }
            Event::Undecodable { object, last } => Some(Event::Undecodable {
                object: object.clone(),
                last: before.or_else(|| last.clone()),
            }),
            Event::Deleted { .. } | Event::UndecodableDeleted { .. } if !self.known => None,
            Event::Deleted { object, .. } => match before {
                Some(old) if old.uid() != object.uid() => Some(vanished(old)),
                _ => Some(next.clone()),
            },
            Event::UndecodableDeleted { .. } => Some(before.map_or_else(|| next.clone(), vanished)),
            Event::Resync { .. } => Some(self.event.clone()),
        }
    }
}

fn vanished<K>(object: Arc<K>) -> Event<K> {
    Event::Deleted {
        object,
        final_state_known: false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::cache::fake::{object, undecodable};

    fn at(uid: &str, version: u64) -> Arc<ConfigMap> {
        Arc::new(object("default", "a", uid, version, &[]))
    }

    fn added(uid: &str, version: u64) -> Event<ConfigMap> {
        Event::Added {
            object: at(uid, version),
            initial: false,
        }
    }

    fn updated(uid: &str, old: u64, new: u64) -> Event<ConfigMap> {
        Event::Updated {
            old: at(uid, old),
            new: at(uid, new),
        }
    }

    fn deleted(uid: &str, version: u64) -> Event<ConfigMap> {
        Event::Deleted {
            object: at(uid, version),
            final_state_known: true,
        }
    }

    fn resync(uid: &str, version: u64) -> Event<ConfigMap> {
        Event::Resync {
            object: at(uid, version),
        }
    }

    fn bad(uid: &str, version: u64, last: Option<u64>) -> Event<ConfigMap> {
        Event::Undecodable {
            object: Arc::new(undecodable("default", "a", uid, version)),
            last: last.map(|last| at(uid, last)),
        }
    }

    fn bad_deleted(version: u64) -> Event<ConfigMap> {
        Event::UndecodableDeleted {
            object: Arc::new(undecodable("default", "a", "u", version)),
        }
    }

    fn text(event: &Event<ConfigMap>) -> String {
        let name = |object: &ConfigMap| {
            let version = object.metadata.resource_version.clone();
            format!(
                "{}{}",
                object.uid().unwrap_or("?"),
                version.unwrap_or_default()
            )
        };
        match event {
            Event::Added { object, initial } => format!("added {} {initial}", name(object)),
            Event::Updated { old, new } => format!("updated {} {}", name(old), name(new)),
            Event::Recreated { old, new } => format!("recreated {} {}", name(old), name(new)),
            Event::Deleted {
                object,
                final_state_known,
            } => format!("deleted {} {final_state_known}", name(object)),
            Event::Undecodable { object, last } => {
                let version = object.resource_version.as_deref().unwrap_or_default();
                format!("bad {version} {:?}", last.as_deref().map(name))
            }
            Event::UndecodableDeleted { .. } => "bad deleted".into(),
            Event::Resync { object } => format!("resync {}", name(object)),
        }
    }

    /// What a listener is told that heard `before` and then nothing until all of `events` happened.
    fn together(
        before: impl IntoIterator<Item = Event<ConfigMap>>,
        events: impl IntoIterator<Item = Event<ConfigMap>>,
    ) -> String {
        let mut waiting = Coalesced::new();
        for event in before {
            waiting.push(&event);
            waiting.pop();
        }
        for event in events {
            waiting.push(&event);
        }
        let event = waiting.pop();
        assert!(waiting.pop().is_none() && waiting.order.is_empty());
        event.as_ref().map_or("nothing".into(), text)
    }

    #[test]
    fn several_events_of_an_object_become_what_they_are_together() {
        let first = Event::Added {
            object: at("u", 1),
            initial: true,
        };
        let cases = [
            (vec![added("u", 1), updated("u", 1, 2)], "added u2 false"),
            (vec![first, updated("u", 1, 2)], "added u2 true"),
            (vec![added("u", 1), deleted("u", 2)], "nothing"),
            (
                vec![added("u", 1), bad("u", 2, Some(1)), bad_deleted(3)],
                "nothing",
            ),
            (
                vec![updated("u", 1, 2), updated("u", 2, 3)],
                "updated u1 u3",
            ),
            (vec![updated("u", 1, 2), deleted("u", 3)], "deleted u3 true"),
            (vec![deleted("u", 2), added("v", 3)], "recreated u2 v3"),
            (vec![deleted("u", 2), added("u", 3)], "updated u2 u3"),
            (vec![deleted("u", 2), added("u", 2)], "nothing"),
            (
                vec![deleted("u", 2), added("v", 3), deleted("v", 4)],
                "deleted u2 false",
            ),
            (
                vec![deleted("u", 2), bad("v", 3, None)],
                "bad 3 Some(\"u2\")",
            ),
            (
                vec![updated("u", 1, 2), bad("u", 3, Some(2))],
                "bad 3 Some(\"u1\")",
            ),
            (
                vec![bad("u", 2, Some(1)), updated("u", 1, 3)],
                "updated u1 u3",
            ),
            (
                vec![deleted("u", 2), bad("v", 3, None), bad_deleted(4)],
                "deleted u2 false",
            ),
            (vec![resync("u", 1), resync("u", 1)], "resync u1"),
            (vec![resync("u", 1), updated("u", 1, 2)], "updated u1 u2"),
            (vec![updated("u", 1, 2), resync("u", 2)], "updated u1 u2"),
            (vec![added("u", 1), resync("u", 1)], "added u1 false"),
            (vec![resync("u", 1), deleted("u", 2)], "deleted u2 true"),
            (
                vec![resync("u", 1), deleted("u", 2), added("v", 3)],
                "recreated u1 v3",
            ),
        ];
        for (events, expected) in cases {
            let told: Vec<_> = events.iter().map(text).collect();
            assert_eq!(together([], events), expected, "{told:?}");
        }
    }

    #[test]
    fn an_object_known_as_undecodable_does_not_go_unnoticed() {
        let known = || [bad("u", 1, None)];
        assert_eq!(
            together(known(), [added("u", 2), deleted("u", 3)]),
            "deleted u3 true"
        );
        let again = [added("u", 2), bad("u", 3, Some(2)), bad_deleted(4)];
        assert_eq!(together(known(), again), "bad deleted");
        let gone = [bad("u", 1, None), bad_deleted(2)];
        assert_eq!(together(gone, [added("v", 3), deleted("v", 4)]), "nothing");
    }

    #[test]
    fn what_was_undecodable_before_the_listener_came_is_new_to_it_when_it_decodes() {
        let mut waiting = Coalesced::new();
        waiting.begin(&bad("u", 2, Some(1)));
        waiting.push(&updated("u", 1, 3));
        assert_eq!(text(&waiting.pop().unwrap()), "added u3 false");
    }

    #[test]
    fn however_much_happens_there_is_one_entry_per_object_and_none_for_what_went_again() {
        let mut waiting = Coalesced::new();
        let objects: Vec<_> = (0..100u64)
            .map(|number| Arc::new(object("default", &format!("o{number}"), "u", number, &[])))
            .collect();
        for round in 0..5_000u64 {
            for one in &objects {
                let object = one.clone();
                waiting.push(&match round % 10 {
                    0 => Event::Added {
                        object,
                        initial: false,
                    },
                    9 => Event::Deleted {
                        object,
                        final_state_known: true,
                    },
                    _ => Event::Updated {
                        old: object.clone(),
                        new: object,
                    },
                });
            }
            let expected = if round % 10 == 9 { 0 } else { 100 };
            assert_eq!((waiting.len(), waiting.order.len()), (expected, expected));
        }
        assert!(waiting.pending.capacity() < 1000 && waiting.undecodable.is_empty());
        // Nothing is kept alive either.
        assert!(objects.iter().all(|object| Arc::strong_count(object) == 1));
    }
}
