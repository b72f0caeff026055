use std::{fmt, hash::Hash, time::Duration};

use super::{
    Note, Priority, Retry,
    inner::{PerWorkerArc, QueueInner},
    run::{End, Request, Run, RunToken},
};

/// A key that a worker works on. No other worker gets the key until this value is gone.
///
/// The worker reports how the work ended: [`done`](Self::done), [`requeue_after`](Self::requeue_after) or
/// [`retry`](Self::retry). Dropping the value reports nothing: the key is free again, its failures stay as they are,
/// and it comes again only if it was added meanwhile.
pub struct Work<K: Clone + Eq + Hash, N: Note = ()> {
    /// What to work on.
    pub key: K,
    /// All notes that were added since the last run, merged. If the key is to come again, the value of this field
    /// when the work ends goes back with it.
    pub note: N,
    /// The highest priority with which the key was added. If the key is to come again, it comes with the value of
    /// this field when the work ends.
    pub priority: Priority,
    /// How long the key had been ready: since it was added, since its deadline, or, if it was added during the
    /// previous run, since that moment.
    pub waited: Duration,
    /// One more than how often the key failed in a row.
    pub attempt: u32,
    /// The hash of the name of the key's group.
    group: u64,
    /// `None` once the work has ended.
    pub(super) token: Option<RunToken>,
    pub(super) inner: PerWorkerArc<QueueInner<K, N>>,
}

impl<K: Clone + Eq + Hash, N: Note> Work<K, N> {
    pub(super) fn new(run: Run<K, N>, inner: PerWorkerArc<QueueInner<K, N>>) -> Self {
        Self {
            key: run.key,
            note: run.note,
            priority: run.priority,
            waited: run.waited,
            attempt: run.failures.saturating_add(1),
            group: run.group,
            token: Some(run.token),
            inner,
        }
    }

    /// Reports success: the failures are forgotten. If the key was added meanwhile, it is ready now.
    pub fn done(mut self) {
        self.end(End::Success);
    }

    /// Reports success and requests another run after `delay`, or earlier if something else makes the key ready.
    pub fn requeue_after(mut self, delay: Duration) {
        let request = self.request();
        if let Some(token) = self.token.take() {
            self.inner.requeue(token, delay, request);
        }
    }

    /// Reports a failure and requests another run after the delay that the queue's rate limiter wants, but not before
    /// `at_least` has passed. If the key was added meanwhile, it is ready now. Returns the number of failures and the
    /// delay.
    pub fn retry(mut self, at_least: Duration) -> Retry {
        // Must come first: if the rate limiter panics, dropping `self` frees the key.
        let delay = self.inner.delay(self.attempt, self.group, at_least);
        let request = self.request();
        match self.token.take() {
            Some(token) => self.inner.retry(token, delay, request),
            None => Retry {
                attempt: self.attempt,
                delay,
            },
        }
    }

    fn request(&mut self) -> Request<N> {
        Request {
            priority: self.priority,
            note: std::mem::take(&mut self.note),
        }
    }

    fn end(&mut self, end: End) {
        if let Some(token) = self.token.take() {
            self.inner.end(token, end);
        }
    }
}

impl<K: Clone + Eq + Hash, N: Note> Drop for Work<K, N> {
    fn drop(&mut self) {
        self.end(End::KeepFailures);
    }
}

impl<K: Clone + Eq + Hash + fmt::Debug, N: Note + fmt::Debug> fmt::Debug for Work<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("key", &self.key)
            .field("note", &self.note)
            .field("priority", &self.priority)
            .field("waited", &self.waited)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
