use std::{fmt, hash::Hash, time::Duration};

use super::{
    Note, Priority, Retry,
    core::{End, Request, Run, Seat},
    work_queue::{Inner, OwnCount},
};

/// A key that is worked on; nobody else is given it until this is gone.
///
/// How the work ended is said by [`done`](Self::done), [`requeue_after`](Self::requeue_after) or
/// [`retry`](Self::retry). If it is dropped, nothing is said: the key is free again, what was
/// counted of its failures stays, and unless it was added meanwhile it does not come again.
pub struct Work<K: Clone + Eq + Hash, N: Note = ()> {
    /// What to work on.
    pub key: K,
    /// All that was noted of why. What stands here when the work ends goes back with the key if
    /// it is to come again.
    pub note: N,
    /// The highest with which it was asked for. With the one that stands here when the work ends
    /// the key comes again.
    pub priority: Priority,
    /// How long it had been ready: since it was added, or its deadline came, or, if it was added
    /// while it was worked on, since then.
    pub waited: Duration,
    /// One more than how often it failed in a row.
    pub attempt: u32,
    /// Taken when the work ends.
    pub(super) seat: Option<Seat>,
    pub(super) inner: OwnCount<Inner<K, N>>,
}

impl<K: Clone + Eq + Hash, N: Note> Work<K, N> {
    pub(super) fn new(run: Run<K, N>, inner: OwnCount<Inner<K, N>>) -> Self {
        Self {
            key: run.key,
            note: run.note,
            priority: run.priority,
            waited: run.waited,
            attempt: run.failures.saturating_add(1),
            seat: Some(run.seat),
            inner,
        }
    }

    /// It succeeded: its failures are forgotten. If the key was added meanwhile it is ready now.
    pub fn done(mut self) {
        self.end(End::Success);
    }

    /// It succeeded, and is to be done again after `delay`, or earlier if something else makes it
    /// ready.
    pub fn requeue_after(mut self, delay: Duration) {
        let request = self.request();
        if let Some(seat) = self.seat.take() {
            self.inner.requeue(seat, delay, request);
        }
    }

    /// It failed: is to be done again after the delay that the queue's limiter wants, but not
    /// before `at_least` has passed. If the key was added meanwhile it is ready now.
    pub fn retry(mut self, at_least: Duration) -> Retry {
        // Asked before anything is taken: if the limiter panics the key is given back.
        let delay = self.inner.delay(self.attempt, at_least);
        let request = self.request();
        match self.seat.take() {
            Some(seat) => self.inner.retry_work(seat, delay, request),
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
        if let Some(seat) = self.seat.take() {
            self.inner.end(seat, end);
        }
    }
}

impl<K: Clone + Eq + Hash, N: Note> Drop for Work<K, N> {
    fn drop(&mut self) {
        self.end(End::Open);
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
