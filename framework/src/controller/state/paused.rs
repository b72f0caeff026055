use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use prometheus::IntGauge;

use crate::{metrics::GaugeShare, resource::ObjectKey};

/// The objects with the annotation `pilothouse.dev/paused`, as far as a worker has seen them.
#[derive(Debug)]
pub(crate) struct PausedObjects {
    keys: Mutex<HashSet<ObjectKey>>,
    /// Workers read it for every key, and it is nearly always 0: so they rarely need the lock.
    count: AtomicUsize,
    share: GaugeShare,
}

impl PausedObjects {
    pub(crate) fn new(gauge: &IntGauge) -> Self {
        Self {
            keys: Mutex::default(),
            count: AtomicUsize::new(0),
            share: GaugeShare::of(gauge),
        }
    }

    /// Notes whether `key` is paused. Returns whether that has changed.
    pub(crate) fn set(&self, key: &ObjectKey, paused: bool) -> bool {
        if !paused && self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut keys = self.keys.lock();
        let new = match paused {
            true => !keys.contains(key) && keys.insert(key.clone()),
            false => keys.remove(key),
        };
        self.count.store(keys.len(), Ordering::Relaxed);
        self.share.set(keys.len());
        new
    }

    /// The number of paused objects.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}
