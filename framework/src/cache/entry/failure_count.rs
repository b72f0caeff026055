use std::sync::atomic::AtomicUsize;

/// Counts the objects of a cache that turn out not to decode when they are read.
#[derive(Debug, Default)]
pub(in crate::cache) struct FailureCount {
    /// All of them.
    pub(in crate::cache) found: AtomicUsize,
    /// Those that the cache has marked since in the state that readers see.
    pub(in crate::cache) marked: AtomicUsize,
}
