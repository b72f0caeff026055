//! The allocations of programs that are built to count them.

/// The counts since the start of the program.
#[derive(Clone, Copy)]
pub struct Allocations {
    /// The number of allocations, reallocations included.
    pub count: u64,
    /// The allocated bytes.
    pub bytes: u64,
    /// The allocated bytes in use.
    pub live: u64,
}

#[cfg(feature = "count")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

impl Allocations {
    /// Returns the counts until now, or `None` if this program does not count.
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
