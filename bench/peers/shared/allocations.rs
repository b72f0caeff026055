//! What is asked of the allocator, in programs that are built to count it.

/// Counts since the start of the program.
#[derive(Clone, Copy)]
pub struct Allocations {
    /// How often memory was asked for, larger memory included.
    pub count: u64,
    /// How much was asked for.
    pub bytes: u64,
    /// How much of it is in use.
    pub live: u64,
}

#[cfg(feature = "count")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

impl Allocations {
    /// Until now; none if this program does not count.
    #[cfg(feature = "count")]
    pub fn now() -> Option<Self> {
        let stats = ALLOCATOR.stats();
        Some(Self {
            count: (stats.allocations + stats.reallocations) as u64,
            bytes: stats.bytes_allocated as u64,
            live: stats
                .bytes_allocated
                .saturating_sub(stats.bytes_deallocated) as u64,
        })
    }

    #[cfg(not(feature = "count"))]
    pub fn now() -> Option<Self> {
        None
    }
}
