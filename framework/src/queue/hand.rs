use std::{fmt, hash::Hash, sync::Arc, time::Duration};

use super::{
    Note, Work,
    held::Held,
    work_queue::{Inner, OwnCount},
};

/// The keys that one worker takes together: quick workers would otherwise wait for each other at the queue more than they
/// work.
///
/// It takes more at once, up to 16, as long as no work waits for anything or takes long; who is going to wait
/// [lays it down](Self::lay_down) before, for others to take. So what is ready waits for a worker's own work only
/// where a thread would be blocked anyway. A key in the hand is nobody else's, as one that was
/// [taken alone](super::WorkQueue::get); its turn among others is decided when it is taken.
pub struct Hand<K: Clone + Eq + Hash, N: Note = ()> {
    inner: OwnCount<Inner<K, N>>,
    held: Held<K, N>,
    /// When keys were last taken.
    taken: Duration,
    /// When the last work began or ended.
    now: Duration,
}

/// More gain nothing.
const MOST: usize = 16;
/// What takes longer gains nothing, either, and others might have begun it earlier.
const LONG: Duration = Duration::from_micros(100);

impl<K: Clone + Eq + Hash, N: Note> Hand<K, N> {
    pub(super) fn new(inner: &Arc<Inner<K, N>>) -> Self {
        let now = inner.now();
        Self {
            inner: Arc::new(inner.clone()),
            held: Held {
                size: 0,
                ..Held::one()
            },
            taken: now,
            now,
        }
    }

    /// The next key to work on; when the hand is empty it waits as [`WorkQueue::get`](super::WorkQueue::get) does.
    ///
    /// May be cancelled: a key is either returned, in the hand or in the queue.
    pub async fn next(&mut self) -> Option<Work<K, N>> {
        if self.held.runs.is_empty() {
            let is_quick = self.now.saturating_sub(self.taken) < LONG;
            let size = if is_quick { self.held.size * 2 } else { 1 };
            self.held.size = size.clamp(1, MOST);
            self.taken = self.inner.take(&mut self.held).await;
            self.now = self.taken;
        }
        let run = self.held.runs.pop_front()?;
        Some(Work::new(run, self.inner.clone()))
    }

    /// As [`Work::done`], but the queue learns of it when this hand takes more or is laid down.
    pub fn done(&mut self, mut work: Work<K, N>) {
        if !Arc::ptr_eq(&self.inner, &work.inner) {
            return work.done();
        }
        if let Some(seat) = work.seat.take() {
            let now = self.inner.now();
            self.inner.finished(now.saturating_sub(self.now));
            self.now = now;
            self.held.done.push(seat);
        }
    }

    /// Gives back what it holds, with the turns that they had, and tells what is done: its worker is going to wait.
    pub fn lay_down(&mut self) {
        self.held.size = 0;
        if !self.held.runs.is_empty() || !self.held.done.is_empty() {
            self.inner.lay_down(&mut self.held);
        }
    }
}

impl<K: Clone + Eq + Hash, N: Note> Drop for Hand<K, N> {
    fn drop(&mut self) {
        self.lay_down();
    }
}

impl<K: Clone + Eq + Hash, N: Note> fmt::Debug for Hand<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").finish_non_exhaustive()
    }
}
