use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{Batch, Delta, DeltaFifo};
use crate::client::ObjectList;

/// A [`DeltaFifo`] that one producer and one consumer wait at.
pub struct DeltaQueue<K> {
    fifo: Mutex<DeltaFifo<K>>,
    filled: Notify,
    drained: Notify,
}

impl<K> DeltaQueue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            fifo: Mutex::new(DeltaFifo::new()),
            filled: Notify::new(),
            drained: Notify::new(),
        }
    }

    /// Appends one delta; waits while the queue is full.
    pub async fn push(&self, delta: Delta<K>) {
        self.wait_for_room().await;
        self.fifo().push(delta);
        self.filled.notify_one();
    }

    /// Appends a page of a list; waits while the queue is full.
    pub async fn push_page(&self, page: ObjectList<K>) {
        self.wait_for_room().await;
        self.fifo().push_page(page);
        self.filled.notify_one();
    }

    /// The next deltas; waits until there are some. Dropping the future loses nothing.
    pub async fn pop(&self) -> Batch<K> {
        loop {
            let batch = self.fifo().pop();
            match batch {
                Some(batch) => {
                    self.drained.notify_one();
                    return batch;
                }
                None => self.filled.notified().await,
            }
        }
    }

    /// The batch taken out last has been worked on; answers whether the first list now has been.
    pub fn finish(&self) -> bool {
        let mut fifo = self.fifo();
        fifo.finish();
        fifo.has_synced()
    }

    async fn wait_for_room(&self) {
        // `notify_one` leaves a permit, so a drain between look and wait is not missed.
        while self.fifo().is_full() {
            self.drained.notified().await;
        }
    }

    fn fifo(&self) -> MutexGuard<'_, DeltaFifo<K>> {
        // No code of others runs under the lock; what a panic left behind is whole.
        self.fifo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for DeltaQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_makes_the_producer_wait_until_it_is_drained() {
        let queue = DeltaQueue::<u32>::new();
        let second = Duration::from_secs(1);
        for number in 0..DeltaFifo::<u32>::BOUND as u32 {
            queue.push(Delta::Set(number.into())).await;
        }
        let blocked = timeout(second, queue.push(Delta::Set(0.into()))).await;
        assert!(blocked.is_err());
        let (pushed, batch) = tokio::join!(
            timeout(second, queue.push(Delta::Set(0.into()))),
            queue.pop()
        );
        assert!(pushed.is_ok());
        assert_eq!(batch.deltas.len(), DeltaFifo::<u32>::BATCH);
    }
}
