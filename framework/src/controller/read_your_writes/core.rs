use std::{cmp::Ordering, collections::BTreeSet, hash::Hash};

use hashbrown::HashMap;

use super::demand::{Change, Demand, Met, View, compare};

/// What the writes of each key ask of the caches, and the keys that wait for it.
///
/// A state machine without threads, tasks or time: the clock is milliseconds that the caller
/// passes. The caches are asked under the caller's lock, and tell of each change after it can be read;
/// so whatever a look misses is told later.
pub(super) struct Core<K, N> {
    keys: HashMap<K, Pending<K, N>>,
    /// Per informer and object the keys that ask something of it.
    wanted: HashMap<usize, HashMap<K, Vec<K>>>,
    /// Parked keys of which nothing is waited for any more.
    free: BTreeSet<K>,
    /// Keys that do not wait, and of which something that they wrote is not there any more.
    missing: BTreeSet<K>,
    /// When which key's demands are to be settled by asking the server.
    due: BTreeSet<(u64, K)>,
    dropped: u64,
}

struct Pending<K, N> {
    tokens: Vec<Token<K>>,
    parked: Option<Parked<N>>,
    /// Nobody reconciles the key any more: its tokens are to end by themselves.
    forgotten: bool,
    due: Option<u64>,
}

struct Parked<N> {
    note: N,
    since: u64,
}

struct Token<K> {
    informer: usize,
    /// The kind's number: one look at the server is for all informers of it.
    kind: usize,
    object: K,
    demand: Demand,
    /// The server is asked from then on.
    from: u64,
    asked: bool,
    /// The server has said how the object is, and nobody waits for the cache any more. When the cache gets there
    /// and does not have it, its key is still to be told.
    settled: bool,
}

/// Whose caches are asked.
pub(super) trait Caches<K> {
    /// Whether `informer` is still read: of one that is not nothing is asked.
    fn has(&self, informer: usize) -> bool {
        let _ = informer;
        true
    }
    /// Calls `look` with what `informer` has of `object` now.
    fn look<T>(&self, informer: usize, object: &K, look: impl FnOnce(View<'_>) -> T) -> T;
}

/// A key that waited and does not have to any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Woken<K, N> {
    pub(super) key: K,
    pub(super) note: N,
    /// For how many milliseconds it waited.
    pub(super) waited: u64,
}

/// Whether a key may be reconciled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Gate<N> {
    /// It may, with this note; if it waited until now, for so many milliseconds.
    Open(N, Option<u64>),
    /// It waits; its first wait says so.
    Closed { first: bool },
}

/// A key that waits, for people to look at.
pub(super) struct Waiting<K> {
    pub(super) key: K,
    pub(super) since: u64,
    /// What it asks of which informer's objects.
    pub(super) asked: Vec<(usize, K, Demand)>,
}

/// What the server is to be asked: how this object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask<K> {
    pub(super) key: K,
    pub(super) kind: usize,
    pub(super) object: K,
}

/// What the server said.
pub(super) enum Found<'a> {
    /// There is no such object.
    Nothing,
    /// It is there; of each informer whether it may hold such an object.
    Object {
        uid: Option<&'a str>,
        version: Option<&'a str>,
        fits: &'a dyn Fn(usize) -> bool,
    },
    /// Nothing, and it never will.
    Refused,
    /// Nothing; later it may.
    Unavailable,
}

/// What came of what the server said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Informers that know of versions which the server does not have.
    pub(super) went_back: BTreeSet<usize>,
    /// The server could not say.
    pub(super) failed: bool,
    /// Something is asked of the caches still.
    pub(super) waits: bool,
}

/// What becomes of a demand after the server was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    /// Nobody waits for it, but when the cache gets there it is looked at.
    Settled,
    Ended,
}

impl Fate {
    fn ended(ended: bool) -> Self {
        if ended { Self::Ended } else { Self::Waits }
    }

    /// Nothing can be had of the server.
    fn of_known(is_unknown: bool) -> Self {
        if is_unknown {
            Self::Ended
        } else {
            Self::Settled
        }
    }
}

/// So long the caches are given before the server is asked.
pub(super) const PATIENCE: u64 = 10_000;
/// A server that cannot say what became of a write is asked again after this.
const PAUSE: u64 = 1_000;
/// So much is asked for one key at most, beyond which demands are put together.
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

    /// A write for `key` asks `demand` of `object` in the cache of `informer`.
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

    /// Whether `key` may be reconciled now. If not it is parked: `note` is kept, together with the
    /// one of an earlier wait, and given back when what it waits for has come.
    pub(super) fn ask(
        &mut self,
        key: &K,
        note: N,
        merge: impl FnOnce(N, N) -> N,
        caches: &impl Caches<K>,
        now: u64,
    ) -> Gate<N> {
        let Some(pending) = self.keys.get_mut(key) else {
            return Gate::Open(note, None);
        };
        pending.forgotten = false;
        // It is reconciled now, or when it waits no longer: what is missing needs no word.
        self.look_at(key, |_| true, |token| token.is_met(caches) != Met::Not);
        let Some(pending) = self.keys.get_mut(key) else {
            return Gate::Open(note, None);
        };
        let before = pending.parked.take();
        let since = before.as_ref().map(|parked| parked.since);
        let note = match before {
            Some(before) => merge(before.note, note),
            None => note,
        };
        if !pending.waits_for_caches() {
            self.schedule(key);
            return Gate::Open(note, since.map(|since| now.saturating_sub(since)));
        }
        pending.parked = Some(Parked {
            note,
            since: since.unwrap_or(now),
        });
        self.schedule(key);
        Gate::Closed {
            first: since.is_none(),
        }
    }

    /// Nobody reconciles `key` any more.
    pub(super) fn forget(&mut self, key: &K) {
        if let Some(pending) = self.keys.get_mut(key) {
            pending.forgotten = true;
            self.missing.remove(key);
            self.look_at(key, |token| token.settled, |_| true);
            self.schedule(key);
        }
    }

    /// Whether the cache of one of `informers` is still to tell `key` what became of `object`, which it wrote.
    pub(super) fn awaits(&self, key: &K, informers: &[usize], object: &K) -> bool {
        let tokens = self.keys.get(key).map_or(&[][..], |one| &one.tokens);
        tokens
            .iter()
            .any(|token| informers.contains(&token.informer) && token.stands_for(object))
    }

    /// Whether what happens in the cache of `informer` matters to anybody.
    pub(super) fn wants(&self, informer: usize) -> bool {
        self.wanted.contains_key(&informer)
    }

    /// Something happened to `object` in the cache of `informer`.
    pub(super) fn heard(&mut self, informer: usize, object: &K, change: Change<'_>) {
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

    /// The cache of `informer` has changed, or its collection's version has: of the keys that wait,
    /// those are given out that have to no longer.
    ///
    /// When a list was `listed`, the keys that do not wait are looked at, too: what one of them wrote and the list
    /// does not have was deleted meanwhile, and no event tells of it, since the cache never had it. Those keys are
    /// [missing](Self::take_missing) something.
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

    /// The keys that do not wait, and that have to be reconciled all the same: something that they wrote is not
    /// there any more.
    pub(super) fn take_missing(&mut self) -> BTreeSet<K> {
        std::mem::take(&mut self.missing)
    }

    /// The versions of `informer` do not mean any more what they meant.
    pub(super) fn went_back(&mut self, informer: usize, now: u64) -> Vec<Woken<K, N>> {
        let mut dropped = 0;
        for key in self.keys_of(informer) {
            let forgotten = self.keys.get(&key).is_some_and(|one| one.forgotten);
            self.look_at(
                &key,
                |token| token.informer == informer,
                |token| {
                    // What is not known is still not known.
                    if token.demand == Demand::Unknown {
                        return false;
                    }
                    dropped += u64::from(!token.settled);
                    token.settled = true;
                    // The list that follows tells whether what was written is there at all.
                    forgotten || !token.demand.at_any_version()
                },
            );
            self.schedule(&key);
        }
        self.dropped += dropped;
        self.woken(now)
    }

    /// When the server is to be asked next.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What the server is to be asked now; each will be [settled](Self::settle).
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

    /// The server has answered `ask`, or nothing can be had of it.
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

    /// How many demands were dropped since the last call without having been met.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Some of the keys that wait, `limit` at most.
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

    /// How many keys have something to ask.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many demands there are.
    #[cfg(test)]
    pub(super) fn tokens(&self) -> usize {
        self.keys.values().map(|pending| pending.tokens.len()).sum()
    }

    /// The keys that ask something of `informer`, in their order.
    fn keys_of(&self, informer: usize) -> BTreeSet<K> {
        let objects = self.wanted.get(&informer).into_iter();
        objects
            .flat_map(HashMap::values)
            .flatten()
            .cloned()
            .collect()
    }

    /// The parked keys of which nothing is asked any more.
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

    /// Removes the tokens of `key` that `concerns` picks and `is_met` ends; tells how many.
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

    /// Removes the tokens of `key` that `concerns` picks and that are met; if something of them is missing, and the key
    /// does not wait and is not forgotten, it has to be reconciled.
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
        // There may be one of each for every object, and one is mostly all.
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

    /// Asks for the collection at the newest version that is asked for, instead of for each object;
    /// where that cannot be, the oldest demand goes.
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

    /// Brings up to date when the server is asked for `key`; a key of which nothing is left ends.
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
