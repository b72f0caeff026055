use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{Shared, WeakShared},
};
use tokio::time::Instant;

use crate::client::Error;

/// How many answers are remembered.
const CAPACITY: usize = 1024;

/// What was asked, as a hash: a token itself is not kept.
pub(super) type Digest = [u8; 32];

type Asking<V> = Pin<Box<dyn Future<Output = Result<V, Arc<Error>>> + Send>>;

/// The API server's answers to reviews: each is remembered for its time, and who asks what is just being asked waits for
/// that answer. What failed is told to all who waited, and not remembered.
pub(super) struct ReviewCache<V> {
    slots: Mutex<HashMap<Digest, Slot<V>>>,
    /// For how long an answer counts, from when it was asked for.
    lifetime: fn(&V) -> Duration,
}

enum Slot<V> {
    Asked(WeakShared<Asking<V>>),
    Known { answer: V, until: Instant },
}

impl<V: Clone + Send + Sync + 'static> ReviewCache<V> {
    pub(super) fn new(lifetime: fn(&V) -> Duration) -> Arc<Self> {
        Arc::new(Self {
            slots: Mutex::default(),
            lifetime,
        })
    }

    /// The answer for `digest`: the one that is known, the one that is under way, or that of `ask`.
    pub(super) async fn get(
        self: &Arc<Self>,
        digest: Digest,
        ask: impl Future<Output = Result<V, Error>> + Send + 'static,
    ) -> Result<V, Arc<Error>> {
        let asking = {
            let mut slots = self.slots();
            match slots.get(&digest) {
                Some(Slot::Known { answer, until }) if Instant::now() < *until => {
                    return Ok(answer.clone());
                }
                Some(Slot::Asked(asked)) => asked.upgrade(),
                _ => None,
            }
            .unwrap_or_else(|| {
                let asking = self.asking(digest, ask);
                if let Some(asked) = asking.downgrade() {
                    make_room(&mut slots);
                    slots.insert(digest, Slot::Asked(asked));
                }
                asking
            })
        };
        asking.await
    }

    fn asking(
        self: &Arc<Self>,
        digest: Digest,
        ask: impl Future<Output = Result<V, Error>> + Send + 'static,
    ) -> Shared<Asking<V>> {
        let cache = self.clone();
        let asked = Instant::now();
        let asking: Asking<V> = Box::pin(async move {
            let answer = ask.await;
            let mut slots = cache.slots();
            match answer {
                Ok(answer) => {
                    let until = asked + (cache.lifetime)(&answer);
                    let known = answer.clone();
                    slots.insert(
                        digest,
                        Slot::Known {
                            answer: known,
                            until,
                        },
                    );
                    Ok(answer)
                }
                Err(error) => {
                    slots.remove(&digest);
                    Err(Arc::new(error))
                }
            }
        });
        asking.shared()
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Digest, Slot<V>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots().len()
    }
}

/// Drops what is over when there is no room, and what is over soonest when that makes none.
fn make_room<V>(slots: &mut HashMap<Digest, Slot<V>>) {
    if slots.len() < CAPACITY {
        return;
    }
    let now = Instant::now();
    slots.retain(|_, slot| match slot {
        Slot::Asked(asked) => asked.upgrade().is_some(),
        Slot::Known { until, .. } => now < *until,
    });
    if slots.len() < CAPACITY {
        return;
    }
    // Who asks for what is under way still gets it when it is forgotten here.
    let soonest = slots.iter().min_by_key(|(_, slot)| match slot {
        Slot::Asked(_) => None,
        Slot::Known { until, .. } => Some(*until),
    });
    if let Some(digest) = soonest.map(|(digest, _)| *digest) {
        slots.remove(&digest);
    }
}
