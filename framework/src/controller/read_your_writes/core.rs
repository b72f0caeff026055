use std::{cmp::Ordering, collections::BTreeSet, hash::Hash};

use hashbrown::HashMap;

use super::demand::{CacheChange, Demand, Met, View, compare};

/// The demands that the writes of each key make on the caches, and the keys that wait for them.
///
/// A state machine without threads, tasks or time: the caller passes the clock in milliseconds. The caches are read under the
/// caller's lock, and each cache reports a change after the change can be read. So a change that a read misses is reported
/// later.
pub(super) struct Core<K, N> {
    keys: HashMap<K, Pending<K, N>>,
    /// The keys with a demand, per informer and object.
    wanted: HashMap<usize, HashMap<K, Vec<K>>>,
    /// Parked keys whose demands are all met.
    free: BTreeSet<K>,
    /// Keys that do not wait, and that wrote an object which is gone.
    missing: BTreeSet<K>,
    /// The keys, with the time at which the server is asked about their demands.
    due: BTreeSet<(u64, K)>,
    dropped: u64,
}

struct Pending<K, N> {
    tokens: Vec<Token<K>>,
    parked: Option<Parked<N>>,
    /// The key is not reconciled any more. Its tokens end without effect.
    forgotten: bool,
    due: Option<u64>,
}

struct Parked<N> {
    note: N,
    since: u64,
}

struct Token<K> {
    informer: usize,
    /// The number of the kind. One request to the server answers for all informers of the kind.
    kind: usize,
    object: K,
    demand: Demand,
    /// From this time on the server is asked.
    from: u64,
    asked: bool,
    /// The server has answered, and the key does not wait for the cache any more. If the cache reaches the version and does not
    /// have the object, the key still has to be reconciled.
    settled: bool,
}

/// The caches.
pub(super) trait Caches<K> {
    /// Whether `informer` is still read. No demands are made on an informer that is not.
    fn has(&self, informer: usize) -> bool {
        let _ = informer;
        true
    }
    /// Calls `look` with the present state of `object` in the cache of `informer`.
    fn look<T>(&self, informer: usize, object: &K, look: impl FnOnce(View<'_>) -> T) -> T;
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

/// A question to the server: the present state of this object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask<K> {
    pub(super) key: K,
    pub(super) kind: usize,
    pub(super) object: K,
}

/// The answer of the server.
pub(super) enum Found<'a> {
    /// The object does not exist.
    Nothing,
    /// The object exists. `fits` says for each informer whether it may hold such an object.
    Object {
        uid: Option<&'a str>,
        version: Option<&'a str>,
        fits: &'a dyn Fn(usize) -> bool,
    },
    /// The server refuses to answer, and always will.
    Refused,
    /// The server did not answer. It may answer later.
    Unavailable,
}

/// The effect of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Informers that have seen versions which the server does not have.
    pub(super) went_back: BTreeSet<usize>,
    /// The server did not answer.
    pub(super) failed: bool,
    /// Demands on the caches remain.
    pub(super) waits: bool,
}

/// The effect of an answer on one demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    /// The key does not wait for it any more. It is checked again when the cache reaches the version.
    Settled,
    Ended,
}

impl Fate {
    fn ended(ended: bool) -> Self {
        if ended { Self::Ended } else { Self::Waits }
    }

    /// The server does not answer.
    fn of_known(is_unknown: bool) -> Self {
        if is_unknown {
            Self::Ended
        } else {
            Self::Settled
        }
    }
}

/// The server is asked when the caches have not met a demand after this time, in milliseconds.
pub(super) const PATIENCE: u64 = 10_000;
/// A server that did not answer is asked again after this time, in milliseconds.
const PAUSE: u64 = 1_000;
/// The largest number of demands of one key. Beyond it demands are combined.
pub(super) const TOKENS: usize = 1024;

impl<K: Clone + Eq + Hash + Ord, N> Core<K, N> {
    pub(super) fn new() -> Self {
        Self {
            keys: HashMap::new(),
            wanted: HashMap::new(),
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
        match is_met(caches, informer, object, &mut demand) {
            Met::There => {}
            Met::Missing => {
                self.missing.insert(key.clone());
            }
            Met::Not => {
                let from = match demand {
                    Demand::Unknown => now,
                    _ => now.saturating_add(PATIENCE),
                };
                let token = Token {
                    informer,
                    kind,
                    object: object.clone(),
                    demand,
                    from,
                    asked: false,
                    settled: false,
                };
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
        self.wanted.contains_key(&informer)
    }

    /// `object` has changed in the cache of `informer`.
    pub(super) fn heard(&mut self, informer: usize, object: &K, change: CacheChange<'_>) {
        let wanted = self.wanted.get(&informer);
        let Some(keys) = wanted.and_then(|wanted| wanted.get(object)).cloned() else {
            return;
        };
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
        for key in self.keys_of(informer) {
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
        for key in self.keys_of(informer) {
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

    /// When the server has to be asked next.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The questions to the server that are due now. The caller passes each answer to [`settle`](Self::settle).
    pub(super) fn take_due(&mut self, now: u64) -> Vec<Ask<K>> {
        let mut asks = Vec::new();
        while let Some((at, key)) = self.due.first().cloned()
            && at <= now
        {
            let Some(pending) = self.keys.get_mut(&key) else {
                self.due.pop_first();
                continue;
            };
            for token in &mut pending.tokens {
                if token.asked || token.from > now {
                    continue;
                }
                token.asked = true;
                let ask = Ask {
                    key: key.clone(),
                    kind: token.kind,
                    object: token.object.clone(),
                };
                if !asks.contains(&ask) {
                    asks.push(ask);
                }
            }
            self.schedule(&key);
        }
        asks
    }

    /// The server has answered `ask`, or did not answer.
    pub(super) fn settle(
        &mut self,
        ask: &Ask<K>,
        found: Found<'_>,
        caches: &impl Caches<K>,
        now: u64,
    ) -> (Settled, Vec<Woken<K, N>>) {
        let mut settled = Settled::default();
        let forgotten = self.keys.get(&ask.key).is_some_and(|one| one.forgotten);
        let is_asked =
            |token: &Token<K>| token.asked && token.kind == ask.kind && token.object == ask.object;
        self.look_at(&ask.key, is_asked, |token| {
            let is_unknown = token.demand == Demand::Unknown;
            token.asked = false;
            let pause = match (&found, is_unknown) {
                (Found::Unavailable, true) => PAUSE,
                _ => PATIENCE,
            };
            token.from = now.saturating_add(pause);
            let fate = match &found {
                Found::Refused => {
                    settled.failed = true;
                    Fate::of_known(is_unknown)
                }
                Found::Unavailable => {
                    settled.failed = true;
                    Fate::ended(forgotten)
                }
                Found::Nothing if is_unknown => {
                    let held = caches.look(token.informer, &token.object, |view| {
                        let uid = view.held.and_then(|held| held.uid);
                        uid.map(|uid| Demand::gone(uid, None, true))
                    });
                    let ended = held.is_none();
                    token.demand = held.unwrap_or(Demand::Unknown);
                    Fate::ended(ended)
                }
                Found::Nothing => Fate::Ended,
                Found::Object { fits, .. } if !fits(token.informer) => Fate::Ended,
                Found::Object { uid, version, .. } => match (&token.demand, version) {
                    (Demand::Unknown, Some(version)) => {
                        token.demand = Demand::at(*uid, version);
                        Fate::ended(token.is_met(caches) != Met::Not)
                    }
                    (
                        Demand::At {
                            uid: asked,
                            version,
                            whole,
                        },
                        now,
                    ) => {
                        let is_older = now
                            .and_then(|now| compare(now, version))
                            .is_some_and(Ordering::is_lt);
                        if !whole && is_older && asked.as_deref() == *uid {
                            settled.went_back.insert(token.informer);
                        }
                        Fate::Settled
                    }
                    _ => Fate::Ended,
                },
            };
            match fate {
                Fate::Waits => settled.waits = true,
                Fate::Settled => token.settled = true,
                Fate::Ended => {}
            }
            fate == Fate::Ended || forgotten && fate == Fate::Settled
        });
        self.schedule(&ask.key);
        let mut woken = self.woken(now);
        for &informer in &settled.went_back {
            woken.extend(self.went_back(informer, now));
        }
        self.schedule(&ask.key);
        (settled, woken)
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

    /// The keys with demands on `informer`, in their order.
    fn keys_of(&self, informer: usize) -> BTreeSet<K> {
        let objects = self.wanted.get(&informer).into_iter();
        objects
            .flat_map(HashMap::values)
            .flatten()
            .cloned()
            .collect()
    }

    /// The parked keys without unmet demands.
    fn woken(&mut self, now: u64) -> Vec<Woken<K, N>> {
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
    fn look_at(
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
            unwant(&mut self.wanted, key, token);
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
        unwant(&mut self.wanted, key, &token);
        Some(token)
    }

    fn insert(&mut self, key: &K, token: Token<K>) {
        let is_full = |one: &Pending<K, N>| one.tokens.len() >= TOKENS;
        if self.keys.get(key).is_some_and(is_full) {
            self.make_room(key, token.informer);
        }
        // There may be one such list per object, and most lists have one item.
        let wanted = self.wanted.entry(token.informer).or_default();
        let keys = wanted.entry(token.object.clone());
        let keys = keys.or_insert_with(|| Vec::with_capacity(1));
        keys.push(key.clone());
        let pending = self.keys.entry(key.clone()).or_insert_with(|| Pending {
            tokens: Vec::with_capacity(1),
            parked: None,
            forgotten: false,
            due: None,
        });
        pending.tokens.push(token);
    }

    /// Replaces the demands on single objects by one demand on the collection, at the newest of their versions. If that is not
    /// possible, drops the oldest demand.
    fn make_room(&mut self, key: &K, informer: usize) {
        let Some(pending) = self.keys.get_mut(key) else {
            return;
        };
        let foldable = |token: &Token<K>| {
            let version = token
                .demand
                .foldable()
                .filter(|_| token.informer == informer)?;
            Some((version.len(), version.to_owned()))
        };
        let newest = pending.tokens.iter().filter_map(foldable).max();
        let mut folding = pending.tokens.iter().filter(|one| foldable(one).is_some());
        let is_settled = folding.all(|one| one.settled);
        let mut kept = false;
        let before = pending.tokens.len();
        let folded: Vec<Token<K>> = pending
            .tokens
            .extract_if(.., |token| {
                let version = foldable(token);
                if version.is_some() && version == newest && !std::mem::replace(&mut kept, true) {
                    if let Demand::At { whole, .. } = &mut token.demand {
                        *whole = true;
                    }
                    token.settled &= is_settled;
                    return false;
                }
                version.is_some()
            })
            .collect();
        for token in &folded {
            unwant(&mut self.wanted, key, token);
        }
        if pending.tokens.len() == before {
            let oldest = pending.tokens.remove(0);
            unwant(&mut self.wanted, key, &oldest);
            self.dropped += 1;
        }
    }

    /// Updates when the server is asked about `key`. Removes a key without demands.
    fn schedule(&mut self, key: &K) {
        let Some(pending) = self.keys.get_mut(key) else {
            self.free.remove(key);
            return;
        };
        let waits = pending.parked.is_some() || pending.forgotten;
        let open = pending
            .tokens
            .iter()
            .filter(|token| !token.asked && !token.settled)
            .filter(|token| waits || token.demand == Demand::Unknown);
        let due = open.map(|token| token.from).min();
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

impl<K, N> Pending<K, N> {
    fn waits_for_caches(&self) -> bool {
        self.tokens.iter().any(|token| !token.settled)
    }
}

impl<K: PartialEq> Token<K> {
    fn stands_for(&self, object: &K) -> bool {
        self.object == *object || self.demand.is_whole()
    }
}

impl<K> Token<K> {
    fn is_met(&mut self, caches: &impl Caches<K>) -> Met {
        is_met(caches, self.informer, &self.object, &mut self.demand)
    }
}

fn is_met<K>(caches: &impl Caches<K>, informer: usize, object: &K, demand: &mut Demand) -> Met {
    match caches.has(informer) {
        true => caches.look(informer, object, |view| demand.is_met(view)),
        false => Met::There,
    }
}

fn unwant<K: Eq + Hash>(
    wanted: &mut HashMap<usize, HashMap<K, Vec<K>>>,
    key: &K,
    token: &Token<K>,
) {
    let Some(objects) = wanted.get_mut(&token.informer) else {
        return;
    };
    if let Some(keys) = objects.get_mut(&token.object) {
        if let Some(place) = keys.iter().position(|one| one == key) {
            keys.swap_remove(place);
        }
        if keys.is_empty() {
            objects.remove(&token.object);
        }
    }
    if objects.is_empty() {
        wanted.remove(&token.informer);
    }
}
