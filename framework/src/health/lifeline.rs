use std::{
    any::Any,
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

/// Tells whether background tasks are alive, and of what the first of them died. Clones share it.
///
/// A task of the framework's own that panics leaves a process that looks well and does half of its work. Whoever
/// owns the process waits for [`cut`](Self::cut) and ends it.
#[derive(Clone, Default)]
pub struct Lifeline {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    first: OnceLock<String>,
    cut: CancellationToken,
}

impl Lifeline {
    /// All are alive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a task. Its panic is logged and remembered, and gives `None`.
    pub async fn guard<F: Future>(&self, name: impl fmt::Display, task: F) -> Option<F::Output> {
        match AssertUnwindSafe(task).catch_unwind().await {
            Ok(output) => Some(output),
            Err(panic) => {
                let reason = panic_message(&*panic);
                tracing::error!("the background task {name} panicked: {reason}");
                // Later ones are in the log.
                let _ = self.inner.first.set(format!("{name} panicked: {reason}"));
                self.inner.cut.cancel();
                None
            }
        }
    }

    /// Waits until a task has panicked, and tells which and why: `events panicked: index out of bounds`.
    pub async fn cut(&self) -> String {
        self.inner.cut.cancelled().await;
        self.inner.first.get().cloned().unwrap_or_default()
    }
}

impl fmt::Debug for Lifeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifeline")
            .field("cut", &self.inner.first.get())
            .finish()
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_panic_is_remembered_and_whoever_waits_hears_of_it() {
        let lifeline = Lifeline::new();
        assert_eq!(lifeline.guard("one", async { 1 }).await, Some(1));
        assert!(lifeline.cut().now_or_never().is_none());
        let broken = async { panic!("no {}", "air") };
        assert_eq!(lifeline.guard("two", broken).await, None::<()>);
        lifeline.guard("three", async { panic!("later") }).await;
        assert_eq!(lifeline.cut().await, "two panicked: no air");
    }
}
