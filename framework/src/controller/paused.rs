use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use prometheus::IntGauge;

use crate::{metrics::Share, resource::ObjectKey};

/// The objects that bear the annotation `pilothouse.dev/paused`, as far as a worker saw them.
#[derive(Debug)]
pub(super) struct Paused {
    keys: Mutex<HashSet<ObjectKey>>,
    /// Read on the way of every key, nearly always 0.
    count: AtomicUsize,
    share: Share,
}

impl Paused {
    pub(super) fn new(gauge: &IntGauge) -> Self {
        Self {
            keys: Mutex::default(),
            count: AtomicUsize::new(0),
            share: Share::of(gauge),
        }
    }

    /// Notes whether `key` is paused; answers whether that is new.
    pub(super) fn set(&self, key: &ObjectKey, paused: bool) -> bool {
        if !paused && self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut keys = self.keys();
        let new = match paused {
            true => !keys.contains(key) && keys.insert(key.clone()),
            false => keys.remove(key),
        };
        self.count.store(keys.len(), Ordering::Relaxed);
        self.share.set(keys.len());
        new
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<ObjectKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
