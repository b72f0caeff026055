//! The core on scripted caches, and compared with a simple model.
//!
//! | file | what it tests |
//! | --- | --- |
//! | `demands.rs` | which states and changes of a cache meet a demand, and what the demands of a key cost |
//! | `waiting.rs` | the keys that wait, and those that are not reconciled any more |
//! | `questions.rs` | when the server is asked, and what its answers settle |
//! | `model.rs` | a server, caches that follow it with a delay, and the conditions that must hold for a key that is admitted |

mod demands;
mod model;
mod questions;
mod waiting;

use std::collections::BTreeMap;

use super::{
    core::{Admission, Core},
    demand::{CacheChange, CachedObject, Caches, Demand, View},
    pending::{PATIENCE, TOKENS},
    questions::Found,
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

fn object<'a>(uid: &'a str, version: &'a str, fits: &'a dyn Fn(usize) -> bool) -> Found<'a> {
    Found::Object {
        uid: Some(uid),
        version: Some(version),
        fits,
    }
}
