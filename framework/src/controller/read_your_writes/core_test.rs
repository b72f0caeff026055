//! The core compared with a simple model: a server, caches that follow it with a delay, and the conditions that must hold for a
//! key that is admitted.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{
    core::{Admission, Caches, Core, Found, PATIENCE, Settled, TOKENS},
    demand::{CacheChange, CachedObject, Demand, View},
};

/// Scripted caches: the version of the collection per informer, and UID and version per object.
#[derive(Clone, Debug, Default)]
struct Hand(Vec<Cache>);

#[derive(Clone, Debug, Default)]
struct Cache {
    collection: Option<String>,
    objects: BTreeMap<u8, (String, String)>,
}

impl Hand {
    fn new() -> Self {
        Self(vec![Cache::default(); 2])
    }

    fn has(mut self, object: u8, uid: &str, version: &str) -> Self {
        self.0[0]
            .objects
            .insert(object, (uid.into(), version.into()));
        self
    }

    fn at(mut self, version: &str) -> Self {
        self.0[0].collection = Some(version.into());
        self
    }
}

impl Caches<u8> for Hand {
    fn look<T>(&self, informer: usize, object: &u8, look: impl FnOnce(View<'_>) -> T) -> T {
        let cache = &self.0[informer];
        let held = cache
            .objects
            .get(object)
            .map(|(uid, version)| CachedObject {
                uid: Some(uid),
                version: Some(version),
            });
        look(View {
            held,
            collection: cache.collection.as_deref(),
        })
    }
}

const KEY: u8 = 100;

fn core() -> Core<u8, Vec<u8>> {
    Core::new()
}

fn at(version: &str) -> Demand {
    Demand::at(Some("uid"), version)
}

fn ask(core: &mut Core<u8, Vec<u8>>, note: u8, caches: &Hand, now: u64) -> Admission<Vec<u8>> {
    core.ask(&KEY, vec![note], |a, b| [a, b].concat(), caches, now)
}

fn is_open(core: &mut Core<u8, Vec<u8>>, caches: &Hand) -> bool {
    matches!(ask(core, 0, caches, 0), Admission::Open(..))
}

fn after(demand: Demand) -> Core<u8, Vec<u8>> {
    let mut core = core();
    core.demand(&KEY, (0, 0), &1, demand, &Hand::new().at("5"), 0);
    core
}

#[test]
fn a_version_is_met_by_the_object_or_the_collection_at_that_version_or_later() {
    for (caches, expected) in [
        (Hand::new().at("19"), false),
        (Hand::new().at("20"), true),
        (Hand::new().at("100"), true),
        (Hand::new().at("9"), false),
        (Hand::new().at("5").has(1, "uid", "19"), false),
        (Hand::new().at("5").has(1, "uid", "20"), true),
        (Hand::new().at("5").has(1, "uid", "100"), true),
        (Hand::new().at("5").has(1, "other", "21"), true),
        (Hand::new().at("5").has(2, "uid", "20"), false),
        (Hand::new(), false),
    ] {
        assert_eq!(
            is_open(&mut after(at("20")), &caches),
            expected,
            "{caches:?}"
        );
    }
}

#[test]
fn a_write_that_the_cache_has_already_is_not_waited_for() {
    let mut core = core();
    core.demand(&KEY, (0, 0), &1, at("5"), &Hand::new().at("5"), 0);
    assert_eq!(core.len(), 0);
}

#[test]
fn versions_that_are_not_integers_are_compared_for_equality_on_the_object_only() {
    for (caches, expected) in [
        (Hand::new().at("b"), false),
        (Hand::new().at("20").has(1, "uid", "30"), false),
        (Hand::new().has(1, "uid", "b"), true),
        (Hand::new().has(1, "uid", "c"), false),
    ] {
        assert_eq!(
            is_open(&mut after(at("b")), &caches),
            expected,
            "{caches:?}"
        );
    }
    // A later version is enough.
    let mut core = after(at("b"));
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "b"));
    assert!(is_open(&mut core, &Hand::new().has(1, "uid", "c")));
}

#[test]
fn only_the_deletion_of_the_written_object_ends_the_wait() {
    for demand in [at("b"), Demand::gone("uid", None, false)] {
        let mut core = after(demand);
        core.heard(0, &1, CacheChange::Deleted("other"));
        core.heard(0, &2, CacheChange::Deleted("uid"));
        core.heard(1, &1, CacheChange::Deleted("uid"));
        assert!(!is_open(&mut core, &Hand::new()));
        core.heard(0, &1, CacheChange::Deleted("uid"));
        assert_eq!(core.wake(0, false, &Hand::new(), 0).len(), 1);
    }
}

#[test]
fn a_deletion_is_waited_for_until_the_cache_cannot_have_the_object() {
    let gone = |existed, had| Demand::gone("uid", existed, had);
    for (demand, caches, expected) in [
        (gone(None, true), Hand::new().has(1, "uid", "5"), false),
        (gone(None, true), Hand::new(), true),
        (gone(None, false), Hand::new(), false),
        // An older or a newer object of the same name.
        (gone(None, false), Hand::new().has(1, "other", "9"), false),
        (
            gone(Some("7"), false),
            Hand::new().has(1, "other", "6"),
            false,
        ),
        (
            gone(Some("7"), false),
            Hand::new().has(1, "other", "9"),
            true,
        ),
        (gone(Some("7"), false), Hand::new().at("6"), false),
        (gone(Some("7"), false), Hand::new().at("7"), true),
        (
            gone(Some("7"), false),
            Hand::new().at("7").has(1, "uid", "7"),
            false,
        ),
    ] {
        let mut core = core();
        let had = matches!(demand, Demand::Gone { seen: true, .. });
        let before = if had {
            Hand::new().has(1, "uid", "5")
        } else {
            Hand::new()
        };
        core.demand(&KEY, (0, 0), &1, demand.clone(), &before, 0);
        assert_eq!(
            is_open(&mut core, &caches),
            expected,
            "{demand:?} {caches:?}"
        );
    }
    // The same key created and deleted the object: the creation shows a version at which it existed.
    let mut core = after(at("7"));
    core.demand(&KEY, (0, 0), &1, gone(None, false), &Hand::new().at("5"), 0);
    assert!(!is_open(&mut core, &Hand::new().at("6")));
    assert!(is_open(&mut core, &Hand::new().at("8")));
    // The deletion of another object of the name does not.
    let mut core = after(Demand::at(Some("before"), "7"));
    core.demand(&KEY, (0, 0), &1, gone(None, false), &Hand::new().at("5"), 0);
    assert!(!is_open(&mut core, &Hand::new().at("8")));
}

#[test]
fn a_waiting_key_merges_its_notes_and_comes_back_once() {
    let mut core = after(at("20"));
    let old = Hand::new().at("5");
    assert_eq!(
        ask(&mut core, 1, &old, 100),
        Admission::Closed { first: true }
    );
    assert_eq!(
        ask(&mut core, 2, &old, 200),
        Admission::Closed { first: false }
    );
    assert!(core.wake(0, false, &Hand::new().at("19"), 300).is_empty());
    assert!(core.wake(1, false, &Hand::new().at("20"), 300).is_empty());
    let woken = core.wake(0, false, &Hand::new().at("20"), 400);
    assert_eq!(
        woken
            .into_iter()
            .map(|one| (one.key, one.note, one.waited))
            .collect::<Vec<_>>(),
        [(KEY, vec![1, 2], 300)]
    );
    assert_eq!((core.len(), core.next_due()), (0, None));
}

#[test]
fn a_key_whose_demands_are_met_keeps_its_notes() {
    let mut core = after(at("20"));
    ask(&mut core, 1, &Hand::new(), 100);
    let gate = ask(&mut core, 2, &Hand::new().at("20"), 150);
    assert_eq!(gate, Admission::Open(vec![1, 2], Some(50)));
    assert_eq!(core.len(), 0);
}

#[test]
fn the_newer_of_two_writes_of_an_object_counts_in_any_order_of_the_answers() {
    for versions in [["20", "30"], ["30", "20"]] {
        let mut core = core();
        for version in versions {
            core.demand(&KEY, (0, 0), &1, at(version), &Hand::new(), 0);
        }
        assert_eq!(core.tokens(), 1);
        assert!(!is_open(&mut core, &Hand::new().at("29")));
        assert!(is_open(&mut core, &Hand::new().at("30")));
    }
    // Another object of the name: earlier versions do not count.
    let mut core = after(at("30"));
    core.demand(
        &KEY,
        (0, 0),
        &1,
        Demand::at(Some("new"), "20"),
        &Hand::new(),
        0,
    );
    assert!(is_open(&mut core, &Hand::new().at("20")));
}

#[test]
fn each_informer_that_may_hold_the_object_is_waited_for() {
    let mut core = after(at("20"));
    core.demand(&KEY, (1, 0), &1, at("20"), &Hand::new(), 0);
    let mut caches = Hand::new().at("20");
    assert!(!is_open(&mut core, &caches));
    caches.0[1].collection = Some("20".into());
    assert!(is_open(&mut core, &caches));
}

#[test]
fn the_server_is_asked_once_and_only_when_a_key_has_waited_for_ten_seconds() {
    let mut core = after(at("20"));
    assert_eq!(core.next_due(), None);
    let caches = Hand::new();
    ask(&mut core, 0, &caches, 3000);
    assert_eq!(core.next_due(), Some(PATIENCE));
    assert!(core.take_due(PATIENCE - 1).is_empty());
    let asks = core.take_due(PATIENCE);
    assert_eq!(asks.len(), 1);
    assert!(core.take_due(PATIENCE + 5000).is_empty());
    assert_eq!(core.next_due(), None);
}

fn object<'a>(uid: &'a str, version: &'a str, fits: &'a dyn Fn(usize) -> bool) -> Found<'a> {
    Found::Object {
        uid: Some(uid),
        version: Some(version),
        fits,
    }
}

/// The effect of an answer for a waiting key: the result, whether the key is released, and when the server is asked again.
fn answered(demand: Demand, caches: &Hand, found: Found<'_>) -> (Settled, bool, Option<u64>) {
    let mut core = after(demand);
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    let (settled, woken) = core.settle(&asks[0], found, caches, PATIENCE);
    (settled, !woken.is_empty(), core.next_due())
}

#[test]
fn the_answer_of_the_server_settles_a_demand() {
    let all = |_| true;
    let none = |_| false;
    let cache = Hand::new().at("5").has(1, "uid", "5");
    let open = |found| answered(at("20"), &cache, found);
    for found in [
        Found::Nothing,
        Found::Refused,
        object("uid", "20", &all),
        object("uid", "30", &all),
        object("other", "10", &all),
        object("uid", "10", &none),
    ] {
        let (settled, is_open, next) = open(found);
        assert!(is_open && settled.went_back.is_empty() && next.is_none());
    }
    // The server may be asked again.
    let (settled, is_open, next) = open(Found::Unavailable);
    assert!(settled.failed && settled.waits && !is_open);
    assert_eq!(next, Some(2 * PATIENCE));
    // The server has lost the state that it answered with before.
    let (settled, is_open, _) = open(object("uid", "19", &all));
    assert!(is_open);
    assert_eq!(settled.went_back, BTreeSet::from([0]));
}

#[test]
fn a_write_with_an_unknown_result_is_checked_at_once_and_then_waited_for() {
    let all = |_| true;
    let none = |_| false;
    let mut core = after(Demand::Unknown);
    assert_eq!(core.next_due(), Some(0));
    assert!(!is_open(&mut core, &Hand::new().at("99")));
    assert_eq!(core.take_due(0).len(), 1);

    let held = Hand::new().at("5").has(1, "uid", "5");
    for (caches, found, expected) in [
        (&held, object("uid", "5", &all), true),
        (&held, object("uid", "6", &all), false),
        (&held, object("uid", "6", &none), true),
        (&Hand::new(), Found::Nothing, true),
        // The object is gone, and the cache does not show it yet.
        (&held, Found::Nothing, false),
        (&held, Found::Refused, true),
        (&held, Found::Unavailable, false),
    ] {
        let is_unavailable = matches!(found, Found::Unavailable);
        let (_, is_open, next) = answered(Demand::Unknown, caches, found);
        assert_eq!(is_open, expected);
        let again = if is_unavailable { 1000 } else { PATIENCE };
        assert_eq!(next, (!expected).then_some(PATIENCE + again));
    }
}

#[test]
fn versions_that_go_backwards_end_all_demands_on_that_informer() {
    let mut core = after(at("20"));
    core.demand(&7, (0, 0), &2, at("21"), &Hand::new(), 0);
    core.demand(&7, (1, 1), &2, at("21"), &Hand::new(), 0);
    core.demand(&8, (0, 0), &3, Demand::Unknown, &Hand::new(), 0);
    ask(&mut core, 0, &Hand::new(), 0);
    let woken = core.went_back(0, 10);
    assert_eq!(woken.iter().map(|one| one.key).collect::<Vec<_>>(), [KEY]);
    assert_eq!(
        (core.tokens(), core.take_dropped(), core.take_dropped()),
        (4, 2, 0)
    );
    assert!(is_open(&mut core, &Hand::new()));
    // The list shows whether the written object exists at all.
    let caches = Hand::new().has(1, "uid", "3").at("4");
    assert!(core.wake(0, true, &caches, 10).is_empty());
    assert_eq!((core.tokens(), core.take_missing()), (2, [7].into()));
}

#[test]
fn a_later_object_of_the_same_name_is_another_object() {
    let mut core = after(at("20"));
    core.heard(0, &1, CacheChange::Seen(Some("other"), "19"));
    assert_eq!((core.tokens(), core.take_missing()), (1, [].into()));
    core.heard(0, &1, CacheChange::Seen(Some("other"), "21"));
    assert_eq!((core.tokens(), core.take_missing()), (0, [KEY].into()));
    // Also if the answer comes later, for a key without other demands.
    let caches = Hand::new().has(1, "other", "21");
    core.demand(&KEY, (0, 0), &1, at("20"), &caches, 0);
    assert_eq!((core.tokens(), core.take_missing()), (0, [KEY].into()));
    let caches = Hand::new().has(1, "uid", "21");
    core.demand(&KEY, (0, 0), &1, at("20"), &caches, 0);
    assert_eq!((core.tokens(), core.take_missing()), (0, [].into()));
}

#[test]
fn a_write_is_awaited_until_the_cache_has_reached_it_or_the_object_is_gone() {
    let awaits = |core: &Core<u8, Vec<u8>>| core.awaits(&KEY, &[1, 0], &1);
    let settled = |found| {
        let mut core = after(at("20"));
        assert!(awaits(&core) && !core.awaits(&KEY, &[1], &1) && !core.awaits(&KEY, &[0], &2));
        ask(&mut core, 0, &Hand::new(), 0);
        let asks = core.take_due(PATIENCE);
        core.settle(&asks[0], found, &Hand::new(), PATIENCE);
        core
    };
    let mut core = settled(object("uid", "20", &|_| true));
    assert!(awaits(&core));
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "20"));
    assert!(!awaits(&core));
    assert!(!awaits(&settled(Found::Nothing)));
}

#[test]
fn a_waiting_key_is_reported_with_its_demands() {
    let mut core = after(at("20"));
    core.demand(&KEY, (1, 0), &2, at("30"), &Hand::new(), 5);
    ask(&mut core, 0, &Hand::new(), 7);
    let asks = core.take_due(PATIENCE);
    // A demand that the server has settled is not waited for.
    core.settle(
        &asks[0],
        object("uid", "20", &|_| true),
        &Hand::new(),
        PATIENCE,
    );
    let shown = core.parked(9);
    let asked: Vec<_> = shown.iter().flat_map(|one| one.asked.clone()).collect();
    assert_eq!((shown[0].key, shown[0].since), (KEY, 7));
    assert_eq!(asked, [(1, 2, at("30"))]);
    assert!(core.parked(0).is_empty());
}

#[test]
fn a_key_that_is_not_reconciled_any_more_misses_no_object() {
    let list = Hand::new().at("30");
    let mut core = after(at("20"));
    core.forget(&KEY);
    core.wake(0, true, &list, 0);
    assert_eq!((core.len(), core.take_missing()), (0, [].into()));
    // A settled demand is not checked any more.
    let mut core = after(at("20"));
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    core.settle(
        &asks[0],
        object("uid", "20", &|_| true),
        &Hand::new(),
        PATIENCE,
    );
    assert_eq!(core.tokens(), 1);
    core.forget(&KEY);
    assert_eq!(core.len(), 0);
}

#[test]
fn the_demands_of_a_key_without_an_object_end() {
    let mut core = after(at("20"));
    core.forget(&KEY);
    assert_eq!(core.next_due(), Some(PATIENCE));
    let asks = core.take_due(PATIENCE);
    core.settle(&asks[0], Found::Unavailable, &Hand::new(), PATIENCE);
    assert_eq!((core.len(), core.next_due()), (0, None));

    let mut core = after(at("20"));
    core.forget(&KEY);
    let asks = core.take_due(PATIENCE);
    let there = object("uid", "20", &|_| true);
    core.settle(&asks[0], there, &Hand::new(), PATIENCE);
    assert_eq!((core.len(), core.next_due()), (0, None));

    let mut core = after(at("20"));
    core.forget(&KEY);
    core.heard(0, &1, CacheChange::Seen(Some("uid"), "20"));
    assert_eq!((core.len(), core.next_due()), (0, None));
    // After its next reconcile it is a key like any other.
    let mut core = after(at("20"));
    core.forget(&KEY);
    ask(&mut core, 0, &Hand::new(), 0);
    let asks = core.take_due(PATIENCE);
    core.settle(&asks[0], Found::Unavailable, &Hand::new(), PATIENCE);
    assert_eq!(core.tokens(), 1);
}

/// Caches that count how often they are read. Informer 1 may be one that is not read any more.
struct Counted {
    looks: std::cell::Cell<usize>,
    gone: bool,
}

impl Caches<u8> for Counted {
    fn has(&self, informer: usize) -> bool {
        !self.gone || informer != 1
    }

    fn look<T>(&self, _: usize, _: &u8, look: impl FnOnce(View<'_>) -> T) -> T {
        self.looks.set(self.looks.get() + 1);
        look(View::default())
    }
}

fn parked_at_1(keys: u8) -> (Core<u8, ()>, Counted) {
    let caches = Counted {
        looks: Default::default(),
        gone: false,
    };
    let mut core = Core::new();
    for key in 0..keys {
        core.demand(&key, (1, 0), &key, at("7"), &caches, 0);
        let gate = core.ask(&key, (), |(), ()| (), &caches, 0);
        assert_eq!(gate, Admission::Closed { first: true });
    }
    caches.looks.set(0);
    (core, caches)
}

#[test]
fn a_change_of_one_cache_checks_no_key_that_waits_for_another() {
    let (mut core, caches) = parked_at_1(100);
    assert!(core.wake(0, false, &caches, 0).is_empty());
    assert_eq!(caches.looks.get(), 0);
    core.wake(1, false, &caches, 0);
    assert_eq!(caches.looks.get(), 100);
}

#[test]
fn a_cache_that_is_not_read_any_more_has_no_demands() {
    let (mut core, mut caches) = parked_at_1(3);
    caches.gone = true;
    assert_eq!(core.wake(1, false, &caches, 5).len(), 3);
    core.demand(&9, (1, 0), &9, Demand::Unknown, &caches, 5);
    assert_eq!((core.len(), core.tokens(), core.next_due()), (0, 0, None));
}

#[test]
fn too_many_demands_of_one_key_are_combined_and_still_waited_for() {
    const LAST: u32 = 2 * TOKENS as u32;
    /// Only the last object, and the version of the collection.
    struct Last(Option<&'static str>);
    impl Caches<u32> for Last {
        fn look<T>(&self, _: usize, object: &u32, look: impl FnOnce(View<'_>) -> T) -> T {
            let last = CachedObject {
                uid: None,
                version: Some("12048"),
            };
            look(View {
                held: (*object == LAST && self.0.is_some()).then_some(last),
                collection: self.0,
            })
        }
    }
    let mut core = Core::<u32, ()>::new();
    let demand = |core: &mut Core<u32, ()>, object, version: &str| {
        let demand = Demand::at(None, version);
        core.demand(&0, (0, 0), &object, demand, &Last(None), 0);
        core.tokens()
    };
    for object in 1..=LAST {
        let tokens = demand(&mut core, object, &(10_000 + object).to_string());
        assert!(tokens <= TOKENS);
        if object == TOKENS as u32 + 1 {
            assert_eq!(tokens, 2, "one for all, and the new one");
        }
    }
    assert_eq!(core.take_dropped(), 0);
    let just = |_: (), ()| ();
    let before = Last(Some("12046"));
    assert_eq!(
        core.ask(&0, (), just, &before, 0),
        Admission::Closed { first: true }
    );
    let now = Last(Some("12047"));
    assert!(matches!(
        core.ask(&0, (), just, &now, 0),
        Admission::Open(..)
    ));
    assert_eq!(core.len(), 0);

    // The other demands are still waited for when one of them was settled by the server.
    let mut core = Core::<u32, ()>::new();
    demand(&mut core, 0, "99999");
    core.ask(&0, (), just, &before, 0);
    let asks = core.take_due(PATIENCE);
    let there = object("uid", "99999", &|_| true);
    assert_eq!(core.settle(&asks[0], there, &before, PATIENCE).1.len(), 1);
    for object in 1..=TOKENS as u32 {
        demand(&mut core, object, &(20_000 + object).to_string());
    }
    assert_eq!(core.tokens(), 2);
    core.heard(0, &(TOKENS as u32), CacheChange::Seen(None, "30000"));
    assert_eq!(
        core.ask(&0, (), just, &before, 0),
        Admission::Closed { first: true }
    );

    // Demands that cannot be combined are dropped, the oldest first, and counted.
    let mut core = Core::<u32, ()>::new();
    for object in 0..=TOKENS as u32 {
        demand(&mut core, object, "b");
    }
    assert_eq!((core.tokens(), core.take_dropped()), (TOKENS, 1));
}

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
