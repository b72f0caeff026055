//! The counters of the server.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts since the last reset.
#[derive(Debug, Default)]
pub(super) struct Counts {
    connections: AtomicU64,
    applies: AtomicU64,
    renewals: AtomicU64,
}

impl Counts {
    /// Counts a connection.
    pub(super) fn connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an apply and returns its number, from 1.
    pub(super) fn apply(&self) -> u64 {
        self.applies.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a Lease renewal and returns its number, from 1.
    pub(super) fn renewal(&self) -> u64 {
        self.renewals.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn reset(&self) {
        self.connections.store(0, Ordering::Relaxed);
        self.applies.store(0, Ordering::Relaxed);
        self.renewals.store(0, Ordering::Relaxed);
    }

    /// Returns the counts as the harness reads them, with the number of children.
    pub(super) fn json(&self, children: usize) -> String {
        format!(
            "{{\"connections\":{},\"applies\":{},\"children\":{children},\"renewals\":{}}}",
            self.connections.load(Ordering::Relaxed),
            self.applies.load(Ordering::Relaxed),
            self.renewals.load(Ordering::Relaxed)
        )
    }
}
