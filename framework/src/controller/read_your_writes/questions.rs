//! The part of the [`Core`] that asks the server about demands which the caches do not meet in time.

use std::{cmp::Ordering, collections::BTreeSet, hash::Hash};

use super::{
    core::{Core, Woken},
    demand::{Caches, Demand, Met, compare},
    pending::{PATIENCE, Token},
};

/// A server that did not answer is asked again after this time, in milliseconds.
const PAUSE: u64 = 1_000;
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

impl<K: Clone + Eq + Hash + Ord, N> Core<K, N> {
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
                            ..
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
}
