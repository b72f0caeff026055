use std::{
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use super::{
    Batch, Delta, Entry, RealFifo,
    sync::{Mutex, MutexGuard},
};
use crate::{client::ObjectList, resource::Object};

/// A [`RealFifo`] that producers and a consumer can wait for.
pub struct DeltaQueue<K> {
    /// No foreign code runs under this lock, so that the value is consistent after a panic.
    state: Mutex<QueueState<K>>,
}

struct QueueState<K> {
    fifo: RealFifo<K>,
    /// Tasks that wait for deltas.
    consumers: Vec<Waker>,
    /// Tasks that wait for room.
    producers: Vec<Waker>,
}

impl<K> DeltaQueue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::of(RealFifo::new())
    }

    /// An empty queue that gathers the deltas of each object: see [`RealFifo::by_key`].
    pub fn by_key() -> Self
    where
        K: Object,
    {
        Self::of(RealFifo::by_key())
    }

    fn of(fifo: RealFifo<K>) -> Self {
        Self {
            state: Mutex::new(QueueState {
                fifo,
                consumers: Vec::new(),
                producers: Vec::new(),
            }),
        }
    }

    /// Appends one delta; waits while the queue is full. If the future is dropped before it completes, nothing is
    /// appended.
    pub async fn push(&self, delta: Delta<K>) {
        self.put(|fifo| fifo.push(delta)).await;
    }

    /// Appends a page of a list; waits while the queue is full. If the future is dropped before it completes, nothing
    /// is appended.
    pub async fn push_page(&self, page: ObjectList<Entry<K>>) {
        self.put(|fifo| fifo.push_page(page)).await;
    }

    /// Returns the next deltas; waits until there are some. Dropping the future loses nothing.
    pub async fn pop(&self) -> Batch<K> {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if state.fifo.is_empty() {
                wait(&mut state.consumers, cx);
            }
            match take(state) {
                Some(batch) => Poll::Ready(batch),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Returns the next deltas, if there are some.
    pub fn try_pop(&self) -> Option<Batch<K>> {
        take(self.state.lock())
    }

    /// Whether a consumer should wait for more: see [`RealFifo::is_gathering`].
    pub fn is_gathering(&self) -> bool {
        self.state.lock().fifo.is_gathering()
    }

    /// Reports that the batch taken out last has been processed. Returns whether the first list has been processed.
    pub fn finish(&self) -> bool {
        let mut state = self.state.lock();
        state.fifo.finish();
        state.fifo.has_synced()
    }

    /// The number of deltas in the queue.
    pub fn len(&self) -> usize {
        self.state.lock().fifo.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    async fn put(&self, put: impl FnOnce(&mut RealFifo<K>)) {
        let mut put = Some(put);
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if state.fifo.is_full() {
                wait(&mut state.producers, cx);
                return Poll::Pending;
            }
            if let Some(put) = put.take() {
                put(&mut state.fifo);
            }
            let consumers = std::mem::take(&mut state.consumers);
            drop(state);
            consumers.into_iter().for_each(Waker::wake);
            Poll::Ready(())
        })
        .await;
    }
}

fn take<K>(mut state: MutexGuard<'_, QueueState<K>>) -> Option<Batch<K>> {
    let batch = state.fifo.pop()?;
    let producers = std::mem::take(&mut state.producers);
    drop(state);
    producers.into_iter().for_each(Waker::wake);
    Some(batch)
}

/// Adds the waker of a task once, however often the task polls.
fn wait(waiting: &mut Vec<Waker>, cx: &Context<'_>) {
    if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
        waiting.push(cx.waker().clone());
    }
}

impl<K> Default for DeltaQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}
