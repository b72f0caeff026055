use std::{
    future::poll_fn,
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker},
};

use super::{
    Batch, Delta, DeltaFifo,
    sync::{Mutex, MutexGuard},
};
use crate::client::ObjectList;

/// A [`DeltaFifo`] that producers and a consumer wait at.
pub struct DeltaQueue<K> {
    state: Mutex<State<K>>,
}

struct State<K> {
    fifo: DeltaFifo<K>,
    /// Who waits for deltas.
    consumers: Vec<Waker>,
    /// Who waits for room.
    producers: Vec<Waker>,
}

impl<K> DeltaQueue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                fifo: DeltaFifo::new(),
                consumers: Vec::new(),
                producers: Vec::new(),
            }),
        }
    }

    /// Appends one delta; waits while the queue is full. Nothing is appended if the future is
    /// dropped before.
    pub async fn push(&self, delta: Delta<K>) {
        self.put(|fifo| fifo.push(delta)).await;
    }

    /// Appends a page of a list; waits while the queue is full. Nothing is appended if the future
    /// is dropped before.
    pub async fn push_page(&self, page: ObjectList<Arc<K>>) {
        self.put(|fifo| fifo.push_page(page)).await;
    }

    /// The next deltas; waits until there are some. Dropping the future loses nothing.
    pub async fn pop(&self) -> Batch<K> {
        poll_fn(|cx| {
            let mut state = self.state();
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

    /// The next deltas, if there are some.
    pub fn try_pop(&self) -> Option<Batch<K>> {
        take(self.state())
    }

    /// The batch taken out last has been worked on; answers whether the first list now has been.
    pub fn finish(&self) -> bool {
        let mut state = self.state();
        state.fifo.finish();
        state.fifo.has_synced()
    }

    /// How many deltas are waiting.
    pub fn len(&self) -> usize {
        self.state().fifo.len()
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    async fn put(&self, put: impl FnOnce(&mut DeltaFifo<K>)) {
        let mut put = Some(put);
        poll_fn(|cx| {
            let mut state = self.state();
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

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // No code of others runs under the lock; what a panic left behind is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take<K>(mut state: MutexGuard<'_, State<K>>) -> Option<Batch<K>> {
    let batch = state.fifo.pop()?;
    let producers = std::mem::take(&mut state.producers);
    drop(state);
    producers.into_iter().for_each(Waker::wake);
    Some(batch)
}

/// One place for each task, however often it asks.
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
