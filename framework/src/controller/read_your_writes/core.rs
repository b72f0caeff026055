use std::{collections::BTreeSet, hash::Hash};

use hashbrown::HashMap;

use super::{
    demand::{CacheChange, Caches, Demand, Met},
    demand_index::DemandIndex,
    pending::{Parked, Pending, TOKENS, Token},
};

/// The demands that the writes of each key make on the caches, and the keys that wait for them.
///
/// A state machine without threads, tasks or time: the caller passes the clock in milliseconds. The caches are read under the
/// caller's lock, and each cache reports a change after the change can be read. So a change that a read misses is reported
/// later.
pub(super) struct Core<K, N> {
    pub(super) keys: HashMap<K, Pending<K, N>>,
    index: DemandIndex<K>,
    /// Parked keys whose demands are all met.
    free: BTreeSet<K>,
    /// Keys that do not wait, and that wrote an object which is gone.
    missing: BTreeSet<K>,
    /// The keys, with the time at which the server is asked about their demands.
    pub(super) due: BTreeSet<(u64, K)>,
    dropped: u64,
}

/// A key that waited and whose demands are met.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Woken<K, N> {
    pub(super) key: K,
    pub(super) note: N,
    /// How long it waited, in milliseconds.
    pub(super) waited: u64,
}

/// Whether a key may be reconciled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission<N> {
    /// It may, with this note. If it waited until now, with the time in milliseconds.
    Open(N, Option<u64>),
    /// It waits. `first` says that it did not wait before.
    Closed { first: bool },
}

/// A key that waits, for reports.
pub(super) struct Waiting<K> {
    pub(super) key: K,
    pub(super) since: u64,
    /// Its demands, with informer and object.
    pub(super) asked: Vec<(usize, K, Demand)>,
}

impl<K: Clone + Eq + Hash + Ord, N> Core<K, N> {
    pub(super) fn new() -> Self {
        Self {
            keys: HashMap::new(),
            index: DemandIndex::new(),
            free: BTreeSet::new(),
            missing: BTreeSet::new(),
            due: BTreeSet::new(),
            dropped: 0,
        }
    }

    /// A write for `key` makes `demand` on `object` in the cache of `informer`.
    pub(super) fn demand(
        &mut self,
        key: &K,
        (informer, kind): (usize, usize),
        object: &K,
        demand: Demand,
        caches: &impl Caches<K>,
        now: u64,
    ) {
        let earlier = self.remove(key, informer, object);
        let mut demand = match &earlier {
            Some(earlier) => demand.after(&earlier.demand),
            None => demand,
        };
        match demand.is_met_in(caches, informer, object) {
            Met::There => {}
            Met::Missing => {
                self.missing.insert(key.clone());
            }
            Met::Not => {
                let token = Token::new((informer, kind), object.clone(), demand, now);
                self.insert(key, token);
            }
        }
        self.schedule(key);
    }

    /// Whether `key` may be reconciled now. If not, the key is parked: `note` is merged with the note of an earlier wait, and
    /// returned when the demands are met.
    pub(super) fn ask(
        &mut self,
        key: &K,
        note: N,
        merge: impl FnOnce(N, N) -> N,
        caches: &impl Caches<K>,
        now: u64,
    ) -> Admission<N> {
        let Some(pending) = self.keys.get_mut(key) else {
            return Admission::Open(note, None);
        };
        pending.forgotten = false;
        // The key is reconciled now or after its wait anyway, so a missing object needs no further reconcile.
        self.look_at(key, |_| true, |token| token.is_met(caches) != Met::Not);
        let Some(pending) = self.keys.get_mut(key) else {
            return Admission::Open(note, None);
        };
        let before = pending.parked.take();
        let since = before.as_ref().map(|parked| parked.since);
        let note = match before {
            Some(before) => merge(before.note, note),
            None => note,
        };
        if !pending.waits_for_caches() {
            self.schedule(key);
            return Admission::Open(note, since.map(|since| now.saturating_sub(since)));
        }
        pending.parked = Some(Parked {
            note,
            since: since.unwrap_or(now),
        });
        self.schedule(key);
        Admission::Closed {
            first: since.is_none(),
        }
    }

    /// `key` is not reconciled any more.
    pub(super) fn forget(&mut self, key: &K) {
        if let Some(pending) = self.keys.get_mut(key) {
            pending.forgotten = true;
            self.missing.remove(key);
            self.look_at(key, |token| token.settled, |_| true);
            self.schedule(key);
        }
    }

    /// Whether `key` has an unmet demand on `object` in the cache of one of `informers`.
    pub(super) fn awaits(&self, key: &K, informers: &[usize], object: &K) -> bool {
        let tokens = self.keys.get(key).map_or(&[][..], |one| &one.tokens);
        tokens
            .iter()
            .any(|token| informers.contains(&token.informer) && token.stands_for(object))
    }

    /// Whether any key has a demand on the cache of `informer`.
    pub(super) fn wants(&self, informer: usize) -> bool {
        self.index.has(informer)
    }

    /// `object` has changed in the cache of `informer`.
    pub(super) fn heard(&mut self, informer: usize, object: &K, change: CacheChange<'_>) {
        let keys = self.index.keys_on(informer, object).to_vec();
        for key in keys {
            self.follow(
                key,
                |token| token.informer == informer && token.object == *object,
                |token| token.demand.is_met_by(change),
            );
        }
    }

    /// The cache of `informer`, or the version of its collection, has changed. Returns the waiting keys whose demands are met
    /// now.
    ///
    /// With `listed`, after a list, the keys that do not wait are checked too. If one of them wrote an object that the list does
    /// not have, the object was deleted meanwhile. No event reports this, because the cache never had the object. Such keys
    /// are [missing](Self::take_missing) an object.
    pub(super) fn wake(
        &mut self,
        informer: usize,
        listed: bool,
        caches: &impl Caches<K>,
        now: u64,
    ) -> Vec<Woken<K, N>> {
        for key in self.index.keys_of(informer) {
            let is_parked = self.keys.get(&key).is_some_and(|one| one.parked.is_some());
            if !listed && !is_parked {
                continue;
            }
            self.follow(
                key,
                |token| token.informer == informer,
                |token| token.is_met(caches),
            );
        }
        self.woken(now)
    }

    /// The keys that do not wait and have to be reconciled, because an object that they wrote is gone.
    pub(super) fn take_missing(&mut self) -> BTreeSet<K> {
        std::mem::take(&mut self.missing)
    }

    /// The versions of `informer` went backwards. Earlier versions have lost their meaning.
    pub(super) fn went_back(&mut self, informer: usize, now: u64) -> Vec<Woken<K, N>> {
        let mut dropped = 0;
        for key in self.index.keys_of(informer) {
            let forgotten = self.keys.get(&key).is_some_and(|one| one.forgotten);
            self.look_at(
                &key,
                |token| token.informer == informer,
                |token| {
                    // An unknown result stays unknown.
                    if token.demand == Demand::Unknown {
                        return false;
                    }
                    dropped += u64::from(!token.settled);
                    token.settled = true;
                    // The list that follows shows whether the object exists at all.
                    forgotten || !token.demand.at_any_version()
                },
            );
            self.schedule(&key);
        }
        self.dropped += dropped;
        self.woken(now)
    }

    /// The number of demands that were dropped unmet since the last call of this method.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Some of the waiting keys, at most `limit`.
    pub(super) fn parked(&self, limit: usize) -> Vec<Waiting<K>> {
        let parked = self.keys.iter().filter_map(|(key, pending)| {
            let since = pending.parked.as_ref()?.since;
            let waited_for = pending.tokens.iter().filter(|token| !token.settled);
            let asked = waited_for.map(|token| {
                let object = token.object.clone();
                (token.informer, object, token.demand.clone())
            });
            Some(Waiting {
                key: key.clone(),
                since,
                asked: asked.collect(),
            })
        });
        parked.take(limit).collect()
    }

    /// The number of keys with demands.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of demands.
    #[cfg(test)]
    pub(super) fn tokens(&self) -> usize {
        self.keys.values().map(|pending| pending.tokens.len()).sum()
    }

    /// The parked keys without unmet demands.
    pub(super) fn woken(&mut self, now: u64) -> Vec<Woken<K, N>> {
        let free = std::mem::take(&mut self.free);
        let mut woken = Vec::with_capacity(free.len());
        for key in free {
            let pending = self.keys.get_mut(&key);
            let parked = pending.and_then(|one| one.parked.take());
            self.schedule(&key);
            if let Some(Parked { note, since }) = parked {
                let waited = now.saturating_sub(since);
                woken.push(Woken { key, note, waited });
            }
        }
        woken
    }

    /// Removes the tokens of `key` for which `concerns` and `is_met` hold. Returns their number.
    pub(super) fn look_at(
        &mut self,
        key: &K,
        concerns: impl Fn(&Token<K>) -> bool,
        mut is_met: impl FnMut(&mut Token<K>) -> bool,
    ) -> usize {
        let Some(pending) = self.keys.get_mut(key) else {
            return 0;
        };
        let met = pending
            .tokens
            .extract_if(.., |token| concerns(token) && is_met(token));
        let met: Vec<Token<K>> = met.collect();
        for token in &met {
            self.index.remove(key, token);
        }
        if !met.is_empty() {
            self.schedule(key);
        }
        met.len()
    }

    /// Removes the tokens of `key` for which `concerns` holds and that are met. If an object is missing, and the key does not
    /// wait and is not forgotten, the key has to be reconciled.
    fn follow(
        &mut self,
        key: K,
        concerns: impl Fn(&Token<K>) -> bool,
        mut met: impl FnMut(&mut Token<K>) -> Met,
    ) {
        let pending = self.keys.get(&key);
        let is_idle = pending.is_some_and(|one| one.parked.is_none() && !one.forgotten);
        let mut missing = false;
        self.look_at(&key, concerns, |token| {
            let met = met(token);
            missing |= met == Met::Missing;
            met != Met::Not
        });
        if missing && is_idle {
            self.missing.insert(key);
        }
    }

    fn remove(&mut self, key: &K, informer: usize, object: &K) -> Option<Token<K>> {
        let pending = self.keys.get_mut(key)?;
        let is = |token: &Token<K>| {
            token.informer == informer && token.object == *object && !token.demand.is_whole()
        };
        let place = pending.tokens.iter().position(is)?;
        let token = pending.tokens.remove(place);
        self.index.remove(key, &token);
        Some(token)
    }

    fn insert(&mut self, key: &K, token: Token<K>) {
        let is_full = |one: &Pending<K, N>| one.tokens.len() >= TOKENS;
        if self.keys.get(key).is_some_and(is_full) {
            self.make_room(key, token.informer);
        }
        self.index.insert(key, &token);
        let pending = self.keys.entry(key.clone()).or_insert_with(Pending::new);
        pending.tokens.push(token);
    }

    /// Combines the demands of `key` on `informer`. If that is not possible, drops its oldest demand.
    fn make_room(&mut self, key: &K, informer: usize) {
        let Some(pending) = self.keys.get_mut(key) else {
            return;
        };
        let combined = pending.combine(informer);
        for token in &combined {
            self.index.remove(key, token);
        }
        if combined.is_empty() {
            let oldest = pending.tokens.remove(0);
            self.index.remove(key, &oldest);
            self.dropped += 1;
        }
    }

    /// Updates when the server is asked about `key`. Removes a key without demands.
    pub(super) fn schedule(&mut self, key: &K) {
        let Some(pending) = self.keys.get_mut(key) else {
            self.free.remove(key);
            return;
        };
        let due = pending.next_due();
        if pending.due != due {
            if let Some(before) = pending.due {
                self.due.remove(&(before, key.clone()));
            }
            if let Some(due) = due {
                self.due.insert((due, key.clone()));
            }
            pending.due = due;
        }
        if pending.parked.is_some() && !pending.waits_for_caches() {
            self.free.insert(key.clone());
        } else {
            self.free.remove(key);
        }
        if pending.parked.is_none() && pending.tokens.is_empty() {
            self.keys.remove(key);
        }
    }
}
