//! What the workers and the tasks of the informers tell and ask each other.

use super::{
    core::{Ask, Caches, Found, Gate, PATIENCE, Settled, TOKENS, Woken},
    demand::{Change, Demand, View},
    shared::Shared,
};

type Writes = Shared<u8, Vec<u8>>;

/// Caches that hold nothing; their collections are at this version.
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
    matches!(gate, Gate::Open(..))
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
fn a_cache_matters_as_long_as_somebody_asks_something_of_it() {
    let writes = Writes::new();
    assert!(!writes.wants(0) && writes.asks_nothing());
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 2, 5, "30", 0);
    demand(&writes, 2, 6, "30", 0);
    assert_eq!((writes.wants(0), writes.wants(1)), (true, false));
    writes.heard(0, &5, Change::Seen(Some("uid"), "30"));
    assert!(writes.wants(0) && !writes.asks_nothing());
    writes.heard(0, &6, Change::Seen(Some("uid"), "30"));
    assert_eq!((writes.wants(0), writes.len()), (false, 0));
    assert!(writes.asks_nothing());
}

#[test]
fn what_is_heard_of_an_object_is_for_each_key_that_asks_for_it_and_for_no_other_object() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "20", 0);
    demand(&writes, 2, 5, "30", 0);
    assert!(!is_open(&writes, 1, 0) && !is_open(&writes, 2, 0));
    writes.heard(0, &5, Change::Seen(Some("uid"), "20"));
    assert_eq!(writes.wake(0, false, &NOTHING, 10), []);
    writes.heard(0, &5, Change::Seen(Some("uid"), "30"));
    assert_eq!(writes.wake(0, false, &NOTHING, 20), [woken(2, 20)]);
    writes.heard(0, &6, Change::Seen(Some("uid"), "20"));
    assert_eq!(writes.wake(0, false, &NOTHING, 30), [woken(1, 30)]);
    assert_eq!(writes.len(), 0);
}

#[test]
fn the_server_is_asked_for_each_object_at_its_time_and_an_answer_is_for_one_of_them() {
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
fn a_key_that_nobody_reconciles_any_more_asks_the_server_once() {
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
fn what_is_asked_of_versions_that_went_backwards_is_dropped_and_counted() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "20", 0);
    assert!(!is_open(&writes, 1, 0));
    assert_eq!(writes.went_back(1, 5), []);
    assert_eq!(writes.went_back(0, 5), [woken(1, 5)]);
    assert_eq!((writes.take_dropped(), writes.take_dropped()), (2, 0));
}

#[test]
fn a_collection_that_is_far_enough_answers_for_all_its_objects() {
    let writes = Writes::new();
    demand(&writes, 1, 5, "20", 0);
    demand(&writes, 1, 6, "21", 0);
    assert!(!is_open(&writes, 1, 0));
    assert_eq!(writes.wake(0, false, &Empty(Some("20")), 7), []);
    assert_eq!(writes.wake(0, false, &Empty(Some("21")), 9), [woken(1, 9)]);
}

#[test]
fn what_is_gone_from_a_list_is_told_of_once_and_awaited_no_longer() {
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
fn what_was_put_together_is_waited_for_when_the_object_that_stands_for_it_is_written_again() {
    let writes = Shared::<usize, ()>::new();
    let write = |object, version: usize| {
        let demand = Demand::at(None, &version.to_string());
        writes.demand(&0, &object, [(0, 0, demand)], &NOTHING, 0);
    };
    for object in 0..=TOKENS {
        write(object, 10_000 + object);
    }
    let last = TOKENS - 1;
    write(last, 20_000);
    writes.heard(0, &TOKENS, Change::Seen(Some("uid"), "20000"));
    writes.heard(0, &last, Change::Seen(Some("uid"), "20000"));
    let ask = |version| writes.ask(&0, (), |(), ()| (), &Empty(Some(version)), 0);
    assert_eq!(ask("11022"), Gate::Closed { first: true });
    assert_eq!(ask("11023"), Gate::Open((), Some(0)));
}
