//! How the keys of a controller wait for its caches: no key waits for a change that is there, and none is returned
//! twice.

#[path = "../../../framework/src/controller/read_your_writes/core.rs"]
#[allow(dead_code, unreachable_pub)]
mod core;
#[path = "../../../framework/src/controller/read_your_writes/demand.rs"]
#[allow(dead_code, unreachable_pub)]
mod demand;
#[path = "../../../framework/src/controller/read_your_writes/demand_index.rs"]
#[allow(dead_code, unreachable_pub)]
mod demand_index;
#[path = "../../../framework/src/controller/read_your_writes/locked_core.rs"]
#[allow(dead_code, unreachable_pub)]
mod locked_core;
#[path = "../../../framework/src/controller/read_your_writes/pending.rs"]
#[allow(dead_code, unreachable_pub)]
mod pending;
#[path = "../../../framework/src/controller/read_your_writes/questions.rs"]
#[allow(dead_code, unreachable_pub)]
mod questions;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicUsize, Ordering};

    pub(super) use crate::lock::{Mutex, MutexGuard};
}

use loom::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use self::{
    core::Admission,
    demand::{CacheChange, Caches, Demand, View},
    locked_core::LockedCore,
    pending::PATIENCE,
    questions::Found,
};
use crate::check;

type Writes = Arc<LockedCore<u8, u8>>;

/// A cache for which only the collection's resource version counts.
#[derive(Clone)]
struct Cache(Arc<AtomicUsize>);

impl Cache {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    /// What an informer does with a change: it stores the change first, and delivers it afterwards.
    fn reach(&self, version: usize, writes: &Writes) -> usize {
        self.0.store(version, Ordering::Release);
        writes.heard(0, &1, CacheChange::Seen(None, &version.to_string()));
        writes.wake(0, false, self, 0).len()
    }
}

impl Caches<u8> for Cache {
    fn look<T>(&self, _: usize, _: &u8, look: impl FnOnce(View<'_>) -> T) -> T {
        let version = self.0.load(Ordering::Acquire).to_string();
        look(View {
            held: None,
            collection: Some(&version),
        })
    }
}

const KEY: u8 = 9;

fn writes() -> Writes {
    Arc::new(LockedCore::new())
}

fn demand(writes: &Writes, cache: &Cache, version: &str) {
    let demand = Demand::at(None, version);
    writes.demand(&KEY, &1, [(0, 0, demand)], cache, 0);
}

/// Returns the note if the key may continue.
fn ask(writes: &Writes, cache: &Cache, note: u8) -> Option<u8> {
    if writes.has_no_demands() {
        return Some(note);
    }
    match writes.ask(&KEY, note, |a, b| a + b, cache, 0) {
        Admission::Open(note, _) => Some(note),
        Admission::Closed { .. } => None,
    }
}

#[test]
fn a_key_continues_at_once_or_is_returned_once_however_the_change_and_the_answer_interleave() {
    check(3, || {
        let (writes, cache) = (writes(), Cache::new());
        let informer = thread::spawn({
            let (writes, cache) = (writes.clone(), cache.clone());
            move || cache.reach(1, &writes) + cache.reach(2, &writes)
        });
        demand(&writes, &cache, "2");
        let went_on = ask(&writes, &cache, 0).is_some();
        let given_back = informer.join().unwrap();
        assert_eq!(usize::from(went_on) + given_back, 1);
        assert_eq!(writes.take_due(u64::MAX).1, None);
    });
}

#[test]
fn a_change_and_the_servers_answer_return_a_key_once_in_total() {
    check(3, || {
        let (writes, cache) = (writes(), Cache::new());
        demand(&writes, &cache, "1");
        assert!(ask(&writes, &cache, 0).is_none());
        let informer = thread::spawn({
            let (writes, cache) = (writes.clone(), cache.clone());
            move || cache.reach(1, &writes)
        });
        let mut given_back = 0;
        for ask in writes.take_due(PATIENCE).0 {
            let found = Found::Nothing;
            given_back += writes.settle(&ask, found, &cache, PATIENCE).1.len();
        }
        assert_eq!(given_back + informer.join().unwrap(), 1);
    });
}

#[test]
fn no_note_is_lost_when_a_key_asks_again_while_it_is_returned() {
    check(3, || {
        let (writes, cache) = (writes(), Cache::new());
        demand(&writes, &cache, "1");
        assert!(ask(&writes, &cache, 1).is_none());
        let informer = thread::spawn({
            let (writes, cache) = (writes.clone(), cache.clone());
            move || {
                cache.0.store(1, Ordering::Release);
                let woken = writes.wake(0, false, &cache, 0);
                woken.into_iter().map(|one| one.note).sum::<u8>()
            }
        });
        let taken = ask(&writes, &cache, 2).unwrap_or_default();
        assert_eq!(taken + informer.join().unwrap(), 3);
    });
}
