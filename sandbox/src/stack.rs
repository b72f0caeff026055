//! Stacks for deeply nested values.
//!
//! Every walk over a value is recursive: reading, pruning, applying, writing and dropping. A real server accepts 10 000
//! levels, and Go's stacks grow. So once the sandbox has accepted a value of more than [`USUAL`](crate::depth::USUAL)
//! levels, everything that touches values runs in [`large`]. Until then nothing costs more.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use serde_json::Value;

use crate::depth;

/// Enough for each walk over [`LIMIT`](depth::LIMIT) levels in a debug build. The operating system provides only the
/// memory that is used.
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
    /// Must be called with each JSON text before it is read. If the text is deeply nested, the caller continues in a
    /// large stack.
    pub(crate) async fn prepare(&self, text: &[u8]) {
        if depth::of_text(text) > depth::USUAL {
            self.enlarge();
            // The stack is chosen when a task is polled.
            tokio::task::yield_now().await;
        }
    }

    /// As [`prepare`](Self::prepare), with a value that a patch has made.
    pub(crate) async fn prepare_for(&self, value: &Value) {
        if large(|| !depth::within(value, depth::USUAL)) {
            self.enlarge();
            tokio::task::yield_now().await;
        }
    }

    /// Polls tasks in a large stack from now on.
    pub(crate) fn enlarge(&self) {
        self.is_large.store(true, Ordering::Relaxed);
    }

    /// Runs `work` on a large stack if the sandbox needs large ones.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.is_large.load(Ordering::Relaxed) {
            true => large(work),
            false => work(),
        }
    }
}

/// A task that is polled and dropped in a stack that is large enough for the sandbox's values.
pub(crate) struct Stacked<F> {
    stack: Arc<Stack>,
    /// `None` while it is being dropped.
    task: Option<Pin<Box<F>>>,
}

/// A future that is polled in a large stack.
pub(crate) struct Large<F>(Pin<Box<F>>);

impl<F: Future> Large<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Box::pin(future))
    }
}

impl<F: Future> Future for Large<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        large(|| self.0.as_mut().poll(cx))
    }
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
