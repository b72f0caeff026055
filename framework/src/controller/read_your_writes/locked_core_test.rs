//! Workers and informer tasks that use the core at the same time.

use super::{
    core::{Admission, Woken},
    demand::{CacheChange, Caches, Demand, View},
    locked_core::LockedCore,
    pending::{PATIENCE, TOKENS},
    questions::{Ask, Found, Settled},
};

type Writes = LockedCore<u8, Vec<u8>>;

/// Caches without objects, whose collections are at this version.
struct Empty(Option<&'static str>);

const NOTHING: Empty = Empty(None);

impl<K> Caches<K> for Empty {
    fn look<T>(&self, _: usize, _: &K, look: impl FnOnce(View<'_>) -> T) -> T {
        look(View {
            held: None,
            collection: self.0,
        })
    }
}

fn demand(writes: &Writes, key: u8, object: u8, version: &str, now: u64) {
    let demands = [(0, 0, Demand::at(Some("uid"), version))];
    writes.demand(&key, &object, demands, &NOTHING, now);
}

fn is_open(writes: &Writes, key: u8, now: u64) -> bool {
    let gate = writes.ask(&key, vec![key], |a, b| [a, b].concat(), &NOTHING, now);
    matches!(gate, Admission::Open(..))
}

fn woken(key: u8, waited: u64) -> Woken<u8, Vec<u8>> {
    let note = vec![key];
    Woken { key, note, waited }
}

fn ask(object: u8) -> Ask<u8> {
    let (key, kind) = (1, 0);
    Ask { key, kind, object }
}

#[test]
fn a_cache_is_wanted_while_a_key_has_a_demand_on_it() {
    let writes = Writes::new();
    assert!(!writes.wants(0) && writes.has_no_demands());
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 2, 5, "30", 0);
    demand(&writes, 2, 6, "30", 0);
    assert_eq!((writes.wants(0), writes.wants(1)), (true, false));
    writes.heard(0, &5, CacheChange::Seen(Some("uid"), "30"));
    assert!(writes.wants(0) && !writes.has_no_demands());
    writes.heard(0, &6, CacheChange::Seen(Some("uid"), "30"));
    assert_eq!((writes.wants(0), writes.len()), (false, 0));
    assert!(writes.has_no_demands());
}

#[test]
fn a_change_of_an_object_meets_the_demands_of_all_keys_on_this_object_only() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "20", 0);
    demand(&writes, 2, 5, "30", 0);
    assert!(!is_open(&writes, 1, 0) && !is_open(&writes, 2, 0));
    writes.heard(0, &5, CacheChange::Seen(Some("uid"), "20"));
    assert_eq!(writes.wake(0, false, &NOTHING, 10), []);
    writes.heard(0, &5, CacheChange::Seen(Some("uid"), "30"));
    assert_eq!(writes.wake(0, false, &NOTHING, 20), [woken(2, 20)]);
    writes.heard(0, &6, CacheChange::Seen(Some("uid"), "20"));
    assert_eq!(writes.wake(0, false, &NOTHING, 30), [woken(1, 30)]);
    assert_eq!(writes.len(), 0);
}

#[test]
fn the_server_is_asked_for_each_object_at_its_time_and_an_answer_settles_one_object() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "20", 4000);
    assert!(!is_open(&writes, 1, 4000));
    let later = PATIENCE + 4000;
    assert_eq!(writes.take_due(PATIENCE), (vec![ask(5)], Some(later)));
    assert_eq!(writes.take_due(later), (vec![ask(6)], None));
    let settle = |object| writes.settle(&ask(object), Found::Nothing, &NOTHING, later);
    assert_eq!(settle(5), (Settled::default(), vec![]));
    assert_eq!(settle(6), (Settled::default(), vec![woken(1, PATIENCE)]));
    assert_eq!(writes.len(), 0);
}

#[test]
fn the_server_is_asked_once_for_a_key_that_is_not_reconciled_any_more() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    assert_eq!(writes.take_due(PATIENCE), (vec![], None));
    writes.forget(&1);
    assert_eq!(writes.take_due(PATIENCE), (vec![ask(5)], None));
    let (settled, woken) = writes.settle(&ask(5), Found::Unavailable, &NOTHING, PATIENCE);
    assert!(settled.failed && !settled.waits && woken.is_empty());
    assert_eq!(writes.len(), 0);
}

#[test]
fn demands_for_versions_that_went_backwards_are_dropped_and_counted() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "20", 0);
    assert!(!is_open(&writes, 1, 0));
    assert_eq!(writes.went_back(1, 5), []);
    assert_eq!(writes.went_back(0, 5), [woken(1, 5)]);
    assert_eq!((writes.take_dropped(), writes.take_dropped()), (2, 0));
}

#[test]
fn a_collection_at_a_later_version_meets_the_demands_on_all_its_objects() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "21", 0);
    assert!(!is_open(&writes, 1, 0));
    assert_eq!(writes.wake(0, false, &Empty(Some("20")), 7), []);
    assert_eq!(writes.wake(0, false, &Empty(Some("21")), 9), [woken(1, 9)]);
}

#[test]
fn an_object_missing_from_a_list_is_reported_once_and_not_awaited_any_more() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 2, 6, "30", 0);
    assert!(!is_open(&writes, 2, 4));
    assert_eq!((writes.len(), writes.parked(9).len()), (2, 1));
    assert!(writes.awaits(&1, &[0], &5) && !writes.awaits(&1, &[0], &6));
    assert_eq!(writes.wake(0, true, &Empty(Some("30")), 7), [woken(2, 3)]);
    assert_eq!(writes.take_missing(), [1].into());
    assert_eq!(writes.take_missing(), [].into());
    assert!(!writes.awaits(&1, &[0], &5));
    assert_eq!(writes.len(), 0);
}

#[test]
fn combined_demands_are_kept_when_their_object_is_written_again() {
    let writes = LockedCore::<usize, ()>::new();
    let write = |object, version: usize| {
        let demand = Demand::at(None, &version.to_string());
        writes.demand(&0, &object, [(0, 0, demand)], &NOTHING, 0);
    };
    for object in 0..=TOKENS {
        write(object, 10_000 + object);
    }
    let last = TOKENS - 1;
    write(last, 20_000);
    writes.heard(0, &TOKENS, CacheChange::Seen(Some("uid"), "20000"));
    writes.heard(0, &last, CacheChange::Seen(Some("uid"), "20000"));
    let ask = |version| writes.ask(&0, (), |(), ()| (), &Empty(Some(version)), 0);
    assert_eq!(ask("11022"), Admission::Closed { first: true });
    assert_eq!(ask("11023"), Admission::Open((), Some(0)));
}
