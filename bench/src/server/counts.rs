//! What the server counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Since the last reset.
#[derive(Debug, Default)]
pub(super) struct Counts {
    connections: AtomicU64,
    applies: AtomicU64,
    renewals: AtomicU64,
}

impl Counts {
    /// Somebody has connected.
    pub(super) fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Something is applied: the how-manieth it is, from 1.
    pub(super) fn apply(&self) -> u64 {
        self.applies.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A lease is renewed: the how-manieth it is, from 1.
    pub(super) fn renewal(&self) -> u64 {
        self.renewals.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn reset(&self) {
        self.connections.store(0, Ordering::Relaxed);
        self.applies.store(0, Ordering::Relaxed);
        self.renewals.store(0, Ordering::Relaxed);
    }

    /// As the harness reads it, with how many children there are.
    pub(super) fn json(&self, children: usize) -> String {
        format!(
            "{{\"connections\":{},\"applies\":{},\"children\":{children},\"renewals\":{}}}",
            self.connections.load(Ordering::Relaxed),
            self.applies.load(Ordering::Relaxed),
            self.renewals.load(Ordering::Relaxed)
        )
    }
}
