use std::{
    collections::BTreeSet,
    hash::Hash,
    ops::{Deref, DerefMut},
};

use super::{
    core::{Admission, Core, Waiting, Woken},
    demand::{CacheChange, Caches, Demand},
    questions::{Ask, Found, Settled},
    sync::{AtomicUsize, Mutex, MutexGuard, Ordering},
};

/// A [`Core`] under a lock, which the workers and the tasks of the informers share.
///
/// The order matters: a cache is read under the lock, and it reports a change after the change can be read. So either the read
/// sees the change, or the later report meets the demand.
pub(super) struct LockedCore<K, N> {
    core: Mutex<Core<K, N>>,
    /// The number of keys with demands. It changes under the lock.
    keys: AtomicUsize,
}

impl<K: Clone + Eq + Hash + Ord, N> LockedCore<K, N> {
    pub(super) fn new() -> Self {
        Self {
            core: Mutex::new(Core::new()),
            keys: AtomicUsize::new(0),
        }
    }

    /// Whether no key has demands. Then every key may be reconciled, and the lock is not needed. The next worker of a key sees
    /// the key's own demands, because it starts after they were made.
    pub(super) fn has_no_demands(&self) -> bool {
        self.keys.load(Ordering::Acquire) == 0
    }

    /// As [`Core::demand`], for several informers.
    pub(super) fn demand(
        &self,
        key: &K,
        object: &K,
        demands: impl IntoIterator<Item = (usize, usize, Demand)>,
        caches: &impl Caches<K>,
        now: u64,
    ) {
        let mut core = self.lock();
        for (informer, kind, demand) in demands {
            core.demand(key, (informer, kind), object, demand, caches, now);
        }
    }

    /// As [`Core::ask`].
    pub(super) fn ask(
        &self,
        key: &K,
        note: N,
        merge: impl FnOnce(N, N) -> N,
        caches: &impl Caches<K>,
        now: u64,
    ) -> Admission<N> {
        self.lock().ask(key, note, merge, caches, now)
    }

    /// As [`Core::forget`].
    pub(super) fn forget(&self, key: &K) {
        self.lock().forget(key);
    }

    /// As [`Core::awaits`].
    pub(super) fn awaits(&self, key: &K, informers: &[usize], object: &K) -> bool {
        self.lock().awaits(key, informers, object)
    }

    /// As [`Core::wants`].
    pub(super) fn wants(&self, informer: usize) -> bool {
        self.lock().wants(informer)
    }

    /// As [`Core::heard`].
    pub(super) fn heard(&self, informer: usize, object: &K, change: CacheChange<'_>) {
        self.lock().heard(informer, object, change);
    }

    /// As [`Core::wake`].
    pub(super) fn wake(
        &self,
        informer: usize,
        listed: bool,
        caches: &impl Caches<K>,
        now: u64,
    ) -> Vec<Woken<K, N>> {
        self.lock().wake(informer, listed, caches, now)
    }

    /// As [`Core::take_missing`].
    pub(super) fn take_missing(&self) -> BTreeSet<K> {
        self.lock().take_missing()
    }

    /// As [`Core::went_back`].
    pub(super) fn went_back(&self, informer: usize, now: u64) -> Vec<Woken<K, N>> {
        self.lock().went_back(informer, now)
    }

    /// As [`Core::take_due`] and [`Core::next_due`].
    pub(super) fn take_due(&self, now: u64) -> (Vec<Ask<K>>, Option<u64>) {
        let mut core = self.lock();
        let asks = core.take_due(now);
        (asks, core.next_due())
    }

    /// As [`Core::settle`].
    pub(super) fn settle(
        &self,
        ask: &Ask<K>,
        found: Found<'_>,
        caches: &impl Caches<K>,
        now: u64,
    ) -> (Settled, Vec<Woken<K, N>>) {
        self.lock().settle(ask, found, caches, now)
    }

    /// As [`Core::take_dropped`].
    pub(super) fn take_dropped(&self) -> u64 {
        self.lock().take_dropped()
    }

    /// As [`Core::parked`].
    pub(super) fn parked(&self, limit: usize) -> Vec<Waiting<K>> {
        self.lock().parked(limit)
    }

    /// As [`Core::len`].
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    // Only a failed allocation can panic under the lock, and it leaves a consistent state.
    fn lock(&self) -> Locked<'_, K, N> {
        Locked {
            core: self.core.lock(),
            keys: &self.keys,
        }
    }
}

/// The locked core. Updates the number of keys when it is dropped.
struct Locked<'a, K: Clone + Eq + Hash + Ord, N> {
    core: MutexGuard<'a, Core<K, N>>,
    keys: &'a AtomicUsize,
}

impl<K: Clone + Eq + Hash + Ord, N> Deref for Locked<'_, K, N> {
    type Target = Core<K, N>;

    fn deref(&self) -> &Core<K, N> {
        &self.core
    }
}

impl<K: Clone + Eq + Hash + Ord, N> DerefMut for Locked<'_, K, N> {
    fn deref_mut(&mut self) -> &mut Core<K, N> {
        &mut self.core
    }
}

impl<K: Clone + Eq + Hash + Ord, N> Drop for Locked<'_, K, N> {
    fn drop(&mut self) {
        self.keys.store(self.core.len(), Ordering::Release);
    }
}
