use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{Shared, WeakShared},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::client::Error;

/// The number of remembered results.
const CAPACITY: usize = 1024;

/// A hash of the request. The cache does not store tokens.
pub(super) type Digest = [u8; 32];

type Asking<V> = Pin<Box<dyn Future<Output = Result<V, Arc<Error>>> + Send>>;

/// Caches the API server's responses to reviews. Each response is remembered for its lifetime. A caller
/// with the same request as a running one waits for that response. An error is returned to all waiting
/// callers and is not remembered.
pub(super) struct ReviewCache<V> {
    slots: Mutex<HashMap<Digest, Slot<V>>>,
    /// How long a response is valid, counted from when its request started.
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

    /// The result for `digest`: a remembered one, the one of a running request, or the one of `ask`.
    pub(super) async fn get(
        self: &Arc<Self>,
        digest: Digest,
        ask: impl Future<Output = Result<V, Error>> + Send + 'static,
    ) -> Result<V, Arc<Error>> {
        let asking = {
            let mut slots = self.slots.lock();
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
            let mut slots = cache.slots.lock();
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

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.lock().len()
    }
}

/// Removes expired entries if the cache is full. If none has expired, removes the entry that expires first.
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
    // Callers that wait for a removed running request still get its result.
    let soonest = slots.iter().min_by_key(|(_, slot)| match slot {
        Slot::Asked(_) => None,
        Slot::Known { until, .. } => Some(*until),
    });
    if let Some(digest) = soonest.map(|(digest, _)| *digest) {
        slots.remove(&digest);
    }
}
