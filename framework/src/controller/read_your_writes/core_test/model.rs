//! The core compared with a simple model: a server, caches that follow it with a delay, and the conditions that must hold for a
//! key that is admitted.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The history of one collection on the server, and a cache that has read a part of it.
#[derive(Clone, Debug, Default)]
struct World {
    version: u64,
    /// Version, object, UID and whether the object exists.
    history: Vec<(u64, u8, u64, bool)>,
    /// The position of the cache in the history.
    seen: usize,
}

impl World {
    fn write(&mut self, object: u8, there: bool) -> Option<(u64, u64)> {
        let last = self
            .history
            .iter()
            .rev()
            .find(|(_, one, _, _)| *one == object);
        let present = last
            .filter(|(_, _, _, there)| *there)
            .map(|(_, _, uid, _)| *uid);
        let uid = match (present, there) {
            (Some(uid), _) => uid,
            (None, true) => self.version + 1,
            (None, false) => return None,
        };
        self.version += 1;
        self.history.push((self.version, object, uid, there));
        Some((uid, self.version))
    }

    fn caches(&self) -> Hand {
        let mut caches = Hand::new();
        for (version, object, uid, there) in &self.history[..self.seen] {
            caches.0[0].collection = Some(version.to_string());
            match there {
                true => caches.0[0]
                    .objects
                    .insert(*object, (uid.to_string(), version.to_string())),
                false => caches.0[0].objects.remove(object),
            };
        }
        caches
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u8, u8),
    Delete(u8, u8),
    Foreign(u8, bool),
    /// The cache reads one more change, and reports the change, or only its new version.
    Follow(bool),
    Ask(u8),
    Settle(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3u8, 0..4u8).prop_map(|(key, object)| Step::Write(key, object)),
        1 => (0..3u8, 0..4u8).prop_map(|(key, object)| Step::Delete(key, object)),
        2 => (0..4u8, any::<bool>()).prop_map(|(object, there)| Step::Foreign(object, there)),
        5 => any::<bool>().prop_map(Step::Follow),
        4 => (0..3u8).prop_map(Step::Ask),
        1 => (0..15_000u64).prop_map(Step::Settle),
    ]
}

proptest! {
    #[test]
    fn a_key_is_let_through_exactly_when_the_cache_has_all_it_wrote(
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let mut core = core();
        let mut world = World::default();
        let mut now = 0;
        // The version that the cache has to reach, by key and object.
        let mut wanted: BTreeMap<u8, BTreeMap<u8, u64>> = BTreeMap::new();
        let mut parked = BTreeSet::new();
        for step in steps {
            let caches = world.caches();
            match step {
                Step::Write(key, object) => {
                    let (uid, version) = world.write(object, true).unwrap();
                    let demand = Demand::at(Some(&uid.to_string()), &version.to_string());
                    core.demand(&key, (0, 0), &object, demand, &caches, now);
                    wanted.entry(key).or_default().insert(object, version);
                }
                Step::Delete(key, object) => {
                    let had = caches.0[0].objects.get(&object).map(|(uid, _)| uid.clone());
                    let Some((uid, version)) = world.write(object, false) else { continue };
                    let uid = uid.to_string();
                    let existed = (version - 1).to_string();
                    let had = had.as_deref() == Some(&uid);
                    let demand = Demand::gone(&uid, Some(&existed), had);
                    core.demand(&key, (0, 0), &object, demand, &caches, now);
                    wanted.entry(key).or_default().insert(object, version);
                }
                Step::Foreign(object, there) => {
                    world.write(object, there);
                }
                Step::Follow(tells) => {
                    let Some((version, object, uid, there)) = world.history.get(world.seen).copied() else {
                        continue;
                    };
                    world.seen += 1;
                    let caches = world.caches();
                    if tells {
                        let (version, uid) = (version.to_string(), uid.to_string());
                        let change = if there { CacheChange::Seen(Some(&uid), &version) } else { CacheChange::Deleted(&uid) };
                        core.heard(0, &object, change);
                    }
                    for woken in core.wake(0, false, &caches, now) {
                        prop_assert!(parked.remove(&woken.key));
                    }
                }
                Step::Ask(key) => {
                    match ask_of(&mut core, key, &caches, now) {
                        true => drop(parked.remove(&key)),
                        false => drop(parked.insert(key)),
                    }
                }
                Step::Settle(after) => {
                    now += after;
                    for ask in core.take_due(now) {
                        // The server does not answer: nothing changes.
                        let (_, woken) = core.settle(&ask, Found::Unavailable, &caches, now);
                        prop_assert!(woken.is_empty());
                    }
                }
            }
            let caches = world.caches();
            let reached = world.seen.checked_sub(1).map_or(0, |last| world.history[last].0);
            for (key, objects) in &mut wanted {
                // The object itself may be newer than the write.
                objects.retain(|object, version| {
                    let held = caches.0[0].objects.get(object);
                    let held = held.map_or(0, |(_, version)| version.parse().unwrap());
                    reached.max(held) < *version
                });
                if parked.contains(key) {
                    prop_assert!(!objects.is_empty(), "{key} waits for nothing");
                }
            }
            // A key is admitted if and only if its demands are met.
            for key in 0..3u8 {
                if !parked.contains(&key) {
                    let open = ask_of(&mut core, key, &caches, now);
                    if !open {
                        parked.insert(key);
                    }
                    prop_assert_eq!(open, wanted.get(&key).is_none_or(BTreeMap::is_empty));
                }
            }
        }
        // In the end the cache has everything, and no demand is left.
        world.seen = world.history.len();
        let caches = world.caches();
        core.wake(0, false, &caches, now);
        for key in 0..3u8 {
            prop_assert!(ask_of(&mut core, key, &caches, now));
        }
        prop_assert_eq!((core.len(), core.tokens(), core.next_due()), (0, 0, None));
    }
}

/// The steps of a model in which writes are answered late and a cache misses events.
#[derive(Clone, Debug)]
enum Hidden {
    Write(u8, u8),
    /// The oldest pending write is answered.
    Answer,
    Foreign(u8, bool),
    /// The cache reads and reports one more change.
    Follow,
    /// The cache reads the newest state, and does not report the changes between.
    List,
    Ask(u8),
    Settle(u64),
}

fn hidden() -> impl Strategy<Value = Hidden> {
    prop_oneof![
        4 => (0..3u8, 0..4u8).prop_map(|(key, object)| Hidden::Write(key, object)),
        4 => Just(Hidden::Answer),
        3 => (0..4u8, any::<bool>()).prop_map(|(object, there)| Hidden::Foreign(object, there)),
        2 => Just(Hidden::Follow),
        2 => Just(Hidden::List),
        3 => (0..3u8).prop_map(Hidden::Ask),
        1 => (0..15_000u64).prop_map(Hidden::Settle),
    ]
}

/// A write that was answered and that the cache has not reached.
#[derive(Clone, Copy, Debug)]
struct Written {
    key: u8,
    object: u8,
    uid: u64,
    version: u64,
}

proptest! {
    /// An object that a key wrote, and that others deleted before the cache had it, has no event. Its key must be reconciled
    /// all the same (R2).
    #[test]
    fn a_key_whose_work_is_gone_before_the_cache_had_it_is_told(
        steps in prop::collection::vec(hidden(), 0..80),
    ) {
        let mut core = core();
        let mut world = World::default();
        let mut now = 0;
        let mut under_way = std::collections::VecDeque::new();
        let mut written: Vec<Written> = Vec::new();
        // The newest version that the cache has shown, by UID.
        let mut shown: BTreeMap<u64, u64> = BTreeMap::new();
        let mut parked = BTreeSet::new();
        for step in steps {
            let before = world.caches();
            let mut told = BTreeSet::new();
            let mut woken = Vec::new();
            match step {
                Hidden::Write(key, object) => {
                    let (uid, version) = world.write(object, true).unwrap();
                    under_way.push_back(Written { key, object, uid, version });
                }
                Hidden::Foreign(object, there) => drop(world.write(object, there)),
                Hidden::Answer => {
                    let Some(one) = under_way.pop_front() else { continue };
                    let demand = Demand::at(Some(&one.uid.to_string()), &one.version.to_string());
                    core.demand(&one.key, (0, 0), &one.object, demand, &before, now);
                    written.retain(|other| (other.key, other.object) != (one.key, one.object));
                    written.push(one);
                }
                Hidden::Follow => {
                    let Some((version, object, uid, there)) = world.history.get(world.seen).copied() else {
                        continue;
                    };
                    world.seen += 1;
                    shown.insert(uid, version);
                    let (version, uid) = (version.to_string(), uid.to_string());
                    let change = if there { CacheChange::Seen(Some(&uid), &version) } else { CacheChange::Deleted(&uid) };
                    core.heard(0, &object, change);
                    woken = core.wake(0, false, &world.caches(), now);
                }
                Hidden::List => {
                    world.seen = world.history.len();
                    let after = world.caches();
                    for (object, (uid, version)) in &after.0[0].objects {
                        shown.insert(uid.parse().unwrap(), version.parse().unwrap());
                        core.heard(0, object, CacheChange::Seen(Some(uid), version));
                    }
                    for (object, (uid, _)) in &before.0[0].objects {
                        if after.0[0].objects.get(object).is_none_or(|(other, _)| other != uid) {
                            core.heard(0, object, CacheChange::Deleted(uid));
                            // All keys learn that the object is gone, whatever its version was.
                            shown.insert(uid.parse().unwrap(), world.version);
                        }
                    }
                    woken = core.wake(0, true, &after, now);
                }
                Hidden::Ask(key) => match ask_of(&mut core, key, &before, now) {
                    true => drop((parked.remove(&key), told.insert(key))),
                    false => drop(parked.insert(key)),
                },
                Hidden::Settle(after) => {
                    now += after;
                    for ask in core.take_due(now) {
                        let last = world.history.iter().rev().find(|(_, one, ..)| *one == ask.object);
                        let there = last.filter(|(.., there)| *there);
                        let there = there.map(|(version, _, uid, _)| (uid.to_string(), version.to_string()));
                        let found = match &there {
                            Some((uid, version)) => Found::Object {
                                uid: Some(uid),
                                version: Some(version),
                                fits: &|_| true,
                            },
                            None => Found::Nothing,
                        };
                        if there.is_none() {
                            written.retain(|one| (one.key, one.object) != (ask.key, ask.object));
                        }
                        let (settled, some) = core.settle(&ask, found, &before, now);
                        prop_assert_eq!(settled.went_back.len(), 0);
                        woken.extend(some);
                    }
                }
            }
            for woken in woken {
                prop_assert!(parked.remove(&woken.key));
                told.insert(woken.key);
            }
            told.extend(core.take_missing());
            let reached = world.seen.checked_sub(1).map_or(0, |last| world.history[last].0);
            for one in written.extract_if(.., |one| {
                reached >= one.version || shown.get(&one.uid) >= Some(&one.version)
            }) {
                let was_shown = shown.get(&one.uid) >= Some(&one.version);
                prop_assert!(
                    was_shown || told.contains(&one.key) || parked.contains(&one.key),
                    "{} does not learn that {} is gone", one.key, one.object
                );
            }
        }
        world.seen = world.history.len();
        let caches = world.caches();
        core.wake(0, true, &caches, now);
        for key in 0..3u8 {
            prop_assert!(ask_of(&mut core, key, &caches, now));
        }
        prop_assert_eq!((core.len(), core.tokens(), core.next_due()), (0, 0, None));
    }
}

fn ask_of(core: &mut Core<u8, Vec<u8>>, key: u8, caches: &Hand, now: u64) -> bool {
    let gate = core.ask(&key, vec![key], |a, b| [a, b].concat(), caches, now);
    matches!(gate, Admission::Open(..))
}
