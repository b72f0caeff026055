//! Stacks for values that are nested deeply.
//!
//! Every walk over a value is recursive: reading, pruning, applying, writing and dropping. A real server takes 10 000
//! levels, and Go's stacks grow. So whatever touches values runs in [`large`] once the sandbox has taken a value of more
//! than [`USUAL`](crate::depth::USUAL) levels; until then nothing costs more.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use crate::depth;

/// Enough for each walk over [`LIMIT`](depth::LIMIT) levels in a debug build. It is memory only as far as it is used.
const LARGE: usize = 1 << 30;

/// Runs `work` on a large stack.
pub(crate) fn large<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LARGE / 2, LARGE, work)
}

/// Whether a sandbox needs large stacks.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    is_large: AtomicBool,
}

impl Stack {
    /// To be called with each text of JSON before it is read. If it is nested deeply, the caller goes on in a large stack.
    pub(crate) async fn prepare(&self, text: &[u8]) {
        if depth::of_text(text) > depth::USUAL {
            self.enlarge();
            // The stack is chosen when a task is polled.
            tokio::task::yield_now().await;
        }
    }

    /// From now on tasks are polled in a large stack.
    pub(crate) fn enlarge(&self) {
        self.is_large.store(true, Ordering::Relaxed);
    }

    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.is_large.load(Ordering::Relaxed) {
            true => large(work),
            false => work(),
        }
    }
}

/// A task that is polled, and dropped, in a stack that bears what the sandbox holds.
pub(crate) struct Stacked<F> {
    stack: Arc<Stack>,
    /// `None` when it is being dropped.
    task: Option<Pin<Box<F>>>,
}

impl<F: Future<Output = ()>> Stacked<F> {
    pub(crate) fn new(stack: Arc<Stack>, task: F) -> Self {
        Self {
            stack,
            task: Some(Box::pin(task)),
        }
    }
}

impl<F: Future<Output = ()>> Future for Stacked<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { stack, task } = &mut *self;
        match task {
            Some(task) => stack.run(|| task.as_mut().poll(cx)),
            None => Poll::Ready(()),
        }
    }
}

impl<F> Drop for Stacked<F> {
    fn drop(&mut self) {
        let task = self.task.take();
        self.stack.run(|| drop(task));
    }
}
