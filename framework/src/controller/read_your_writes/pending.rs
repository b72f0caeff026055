use super::demand::{Caches, Demand, Met};

/// The server is asked when the caches have not met a demand after this time, in milliseconds.
pub(super) const PATIENCE: u64 = 10_000;
/// The largest number of demands of one key. Beyond it demands are combined.
pub(super) const TOKENS: usize = 1024;

/// The demands of one key, and its wait for the caches to meet them.
pub(super) struct Pending<K, N> {
    pub(super) tokens: Vec<Token<K>>,
    pub(super) parked: Option<Parked<N>>,
    /// The key is not reconciled any more. Its tokens end without effect.
    pub(super) forgotten: bool,
    /// When the server is asked next about its demands, as [`Core`](super::core::Core) has noted it.
    pub(super) due: Option<u64>,
}

/// The wait of a key.
pub(super) struct Parked<N> {
    pub(super) note: N,
    /// In milliseconds, as all times here.
    pub(super) since: u64,
}

/// One demand of a key: what a write demands of the cache of one informer.
pub(super) struct Token<K> {
    pub(super) informer: usize,
    /// The number of the kind. One request to the server answers for all informers of the kind.
    pub(super) kind: usize,
    pub(super) object: K,
    pub(super) demand: Demand,
    /// From this time on the server is asked.
    pub(super) from: u64,
    pub(super) asked: bool,
    /// The server has answered, and the key does not wait for the cache any more. If the cache reaches the version and does not
    /// have the object, the key still has to be reconciled.
    pub(super) settled: bool,
}

impl<K, N> Pending<K, N> {
    pub(super) fn new() -> Self {
        Self {
            // Most keys have one demand.
            tokens: Vec::with_capacity(1),
            parked: None,
            forgotten: false,
            due: None,
        }
    }

    pub(super) fn waits_for_caches(&self) -> bool {
        self.tokens.iter().any(|token| !token.settled)
    }

    /// When the server has to be asked about the demands.
    pub(super) fn next_due(&self) -> Option<u64> {
        let waits = self.parked.is_some() || self.forgotten;
        let open = self
            .tokens
            .iter()
            .filter(|token| !token.asked && !token.settled)
            .filter(|token| waits || token.demand == Demand::Unknown);
        open.map(|token| token.from).min()
    }

    /// Replaces the demands on single objects by one demand on the collection of `informer`, at the newest of their versions.
    /// Returns the replaced ones.
    pub(super) fn combine(&mut self, informer: usize) -> Vec<Token<K>> {
        let foldable = |token: &Token<K>| {
            let version = token
                .demand
                .foldable()
                .filter(|_| token.informer == informer)?;
            Some((version.len(), version.to_owned()))
        };
        let newest = self.tokens.iter().filter_map(foldable).max();
        let mut folding = self.tokens.iter().filter(|one| foldable(one).is_some());
        let is_settled = folding.all(|one| one.settled);
        let mut folding = self.tokens.iter().filter(|one| foldable(one).is_some());
        let some_written = folding.any(|one| one.demand.is_written());
        let mut kept = false;
        self.tokens
            .extract_if(.., |token| {
                let version = foldable(token);
                if version.is_some() && version == newest && !std::mem::replace(&mut kept, true) {
                    if let Demand::At { whole, written, .. } = &mut token.demand {
                        (*whole, *written) = (true, some_written);
                    }
                    token.settled &= is_settled;
                    return false;
                }
                version.is_some()
            })
            .collect()
    }
}

impl<K> Token<K> {
    /// A demand that is made `now`.
    pub(super) fn new(
        (informer, kind): (usize, usize),
        object: K,
        demand: Demand,
        now: u64,
    ) -> Self {
        let from = match demand {
            Demand::Unknown => now,
            _ => now.saturating_add(PATIENCE),
        };
        Self {
            informer,
            kind,
            object,
            demand,
            from,
            asked: false,
            settled: false,
        }
    }

    pub(super) fn is_met(&mut self, caches: &impl Caches<K>) -> Met {
        self.demand.is_met_in(caches, self.informer, &self.object)
    }
}

impl<K: PartialEq> Token<K> {
    pub(super) fn stands_for(&self, object: &K) -> bool {
        self.object == *object || self.demand.is_whole()
    }
}
