use std::collections::{BTreeMap, HashMap};

use crate::{
    cache::{Entry, Event},
    resource::{Object, ObjectKey},
};

/// Events that wait for a slow listener: at most one for each object.
///
/// A second event of an object replaces the first one, keeps its place in the order, and describes both together to a
/// reader who received neither:
///
/// * the old version is that of the first event, and the new version that of the last;
/// * an object that was added and deleted is not delivered at all;
/// * an object that was deleted and added again is [`Event::Recreated`], or [`Event::Updated`] if its UID is the
///   same, or nothing if its resource version is the same;
/// * an object that was replaced and then deleted is the deletion of the object that the reader knew;
/// * a resync adds nothing to a change.
///
/// So it never holds more events than there are objects that exist or that the listener knows, however many changes
/// happen.
pub(super) struct CoalescedEvents<K> {
    pending: HashMap<ObjectKey, Pending<K>>,
    order: BTreeMap<u64, ObjectKey>,
    next: u64,
}

struct Pending<K> {
    place: u64,
    event: Event<K>,
    /// The version that the listener received last. `None` if the object is new to it.
    before: Option<Entry<K>>,
    initial: bool,
}

impl<K: Object> CoalescedEvents<K> {
    pub(super) fn new() -> Self {
        Self {
            pending: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
        }
    }

    /// Adds an event. Returns whether it was merged with one that waited.
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
        self.order.insert(self.next, key.clone());
        self.pending.insert(key, Pending::first(self.next, event));
        self.next += 1;
        false
    }

    /// Removes the event of the object that has waited longest.
    pub(super) fn pop(&mut self) -> Option<Event<K>> {
        let (_, key) = self.order.pop_first()?;
        let event = self.pending.remove(&key)?.event;
        if self.pending.is_empty() {
            // Frees the memory of a burst.
            self.pending.shrink_to(64);
        }
        Some(event)
    }

    /// How many events wait.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// A mark behind all events that wait now.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    /// Whether all events that were added before `mark` have been removed.
    pub(super) fn is_past(&self, mark: u64) -> bool {
        let first = self.order.first_key_value();
        first.is_none_or(|(place, _)| *place >= mark)
    }
}

impl<K: Object> Pending<K> {
    fn first(place: u64, event: &Event<K>) -> Self {
        let before = match event {
            Event::Added { .. } => None,
            Event::Updated { old, .. } | Event::Recreated { old, .. } => Some(old.clone()),
            Event::Deleted { object, .. } | Event::Resync { object } => Some(object.clone()),
        };
        Self {
            place,
            event: event.clone(),
            before,
            initial: matches!(event, Event::Added { initial: true, .. }),
        }
    }

    /// This event and then `next`, as one event; `None` if together they change nothing.
    fn merged(&self, next: &Event<K>) -> Option<Event<K>> {
        let before = self.before.clone();
        match (next, before) {
            (Event::Resync { .. }, _) => Some(self.event.clone()),
            (Event::Deleted { .. }, None) => None,
            (Event::Deleted { object, .. }, Some(old)) => {
                Some(match old.is_replaced_by(object.known_uid()) {
                    true => Event::of_unseen_deletion(old),
                    false => next.clone(),
                })
            }
            (Event::Added { object: new, .. }, before)
            | (Event::Updated { new, .. } | Event::Recreated { new, .. }, before) => {
                let is_same = before.as_ref().is_some_and(|old| is_same_version(old, new));
                let event = || Event::of_change(before, new.clone(), self.initial);
                (!is_same).then(event)
            }
        }
    }
}

fn is_same_version<K: Object>(old: &Entry<K>, new: &Entry<K>) -> bool {
    let decodes = |entry: &Entry<K>| entry.undecodable().is_none();
    new.resource_version().is_some()
        && old.resource_version() == new.resource_version()
        && decodes(old) == decodes(new)
        && !old.is_replaced_by(new.known_uid())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::cache::fake::{object, undecodable};

    fn at(uid: &str, version: u64) -> Entry<ConfigMap> {
        Entry::decoded(Arc::new(object("default", "a", uid, version, &[])))
    }

    fn bad(uid: &str, version: u64) -> Entry<ConfigMap> {
        Entry::of_undecodable(Arc::new(undecodable("default", "a", uid, version)), None)
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

    /// An object that decoded as version `old` does not decode as version `new`.
    fn worsened(uid: &str, old: u64, new: u64) -> Event<ConfigMap> {
        Event::Updated {
            old: at(uid, old),
            new: bad(uid, new),
        }
    }

    fn improved(uid: &str, old: u64, new: u64) -> Event<ConfigMap> {
        Event::Updated {
            old: bad(uid, old),
            new: at(uid, new),
        }
    }

    fn added_bad(uid: &str, version: u64) -> Event<ConfigMap> {
        Event::Added {
            object: bad(uid, version),
            initial: false,
        }
    }

    /// The final state does not decode, and neither does the last version.
    fn bad_deleted(uid: &str, version: u64) -> Event<ConfigMap> {
        Event::of_unseen_deletion(bad(uid, version))
    }

    fn text(event: &Event<ConfigMap>) -> String {
        let name = |entry: &Entry<ConfigMap>| {
            let mark = entry.undecodable().map_or("", |_| "!");
            let uid = entry.uid().unwrap_or("?");
            format!("{mark}{uid}{}", entry.resource_version().unwrap_or("?"))
        };
        match event {
            Event::Added { object, initial } => format!("added {} {initial}", name(object)),
            Event::Updated { old, new } => format!("updated {} {}", name(old), name(new)),
            Event::Recreated { old, new } => format!("recreated {} {}", name(old), name(new)),
            Event::Deleted {
                object,
                final_state_known,
            } => format!("deleted {} {final_state_known}", name(object)),
            Event::Resync { object } => format!("resync {}", name(object)),
        }
    }

    /// What a listener receives that knows `before`, and then reads nothing until all of `events` have happened.
    fn together(
        before: impl IntoIterator<Item = Event<ConfigMap>>,
        events: impl IntoIterator<Item = Event<ConfigMap>>,
    ) -> String {
        let mut waiting = CoalescedEvents::new();
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
    fn several_events_of_an_object_become_one_event_with_the_same_effect() {
        let first = Event::Added {
            object: at("u", 1),
            initial: true,
        };
        let cases = [
            (vec![added("u", 1), updated("u", 1, 2)], "added u2 false"),
            (vec![first, updated("u", 1, 2)], "added u2 true"),
            (vec![added("u", 1), deleted("u", 2)], "nothing"),
            (
                vec![added("u", 1), worsened("u", 1, 2), bad_deleted("u", 2)],
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
            (vec![deleted("u", 2), added_bad("v", 3)], "recreated u2 !v3"),
            (
                vec![updated("u", 1, 2), worsened("u", 2, 3)],
                "updated u1 !u3",
            ),
            (
                vec![worsened("u", 1, 2), improved("u", 2, 3)],
                "updated u1 u3",
            ),
            (vec![worsened("u", 1, 2), improved("u", 2, 1)], "nothing"),
            (vec![deleted("u", 2), added_bad("u", 2)], "updated u2 !u2"),
            (
                vec![deleted("u", 2), added_bad("v", 3), bad_deleted("v", 3)],
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
            let input: Vec<_> = events.iter().map(text).collect();
            assert_eq!(together([], events), expected, "{input:?}");
        }
    }

    #[test]
    fn the_deletion_of_an_object_known_as_undecodable_is_delivered() {
        let known = || [added_bad("u", 1)];
        assert_eq!(
            together(known(), [improved("u", 1, 2), deleted("u", 3)]),
            "deleted u3 true"
        );
        let again = [
            improved("u", 1, 2),
            worsened("u", 2, 3),
            bad_deleted("u", 3),
        ];
        assert_eq!(together(known(), again), "deleted !u3 false");
        let gone = [added_bad("u", 1), bad_deleted("u", 1)];
        assert_eq!(together(gone, [added("v", 3), deleted("v", 4)]), "nothing");
    }

    #[test]
    fn an_object_that_was_undecodable_before_the_listener_was_added_is_new_when_it_decodes() {
        let existing = Event::Added {
            object: bad("u", 2),
            initial: true,
        };
        let events = [existing, improved("u", 2, 3)];
        assert_eq!(together([], events), "added u3 true");
    }

    #[test]
    fn there_is_at_most_one_event_per_object_and_none_for_an_object_that_was_added_and_deleted() {
        let mut waiting = CoalescedEvents::new();
        let objects: Vec<_> = (0..100u64)
            .map(|number| Arc::new(object("default", &format!("o{number}"), "u", number, &[])))
            .collect();
        for round in 0..5_000u64 {
            for one in &objects {
                let object = Entry::decoded(one.clone());
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
        assert!(waiting.pending.capacity() < 1000);
        // Nothing is kept alive.
        assert!(objects.iter().all(|object| Arc::strong_count(object) == 1));
    }

    #[test]
    fn a_mark_is_past_when_all_that_waited_before_it_has_been_taken_out() {
        let mut waiting = CoalescedEvents::new();
        let push = |waiting: &mut CoalescedEvents<ConfigMap>, name: &str| {
            waiting.push(&Event::Added {
                object: Entry::decoded(Arc::new(object("default", name, "u", 1, &[]))),
                initial: false,
            });
        };
        push(&mut waiting, "first");
        push(&mut waiting, "second");
        let mark = waiting.mark();
        push(&mut waiting, "later");
        assert!(!waiting.is_past(mark));
        waiting.pop();
        assert!(!waiting.is_past(mark));
        waiting.pop();
        assert!(waiting.is_past(mark));
        waiting.pop();
        assert!(waiting.is_past(mark) && waiting.is_past(waiting.mark()));
    }
}
