use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use tokio_util::sync::CancellationToken;

use super::catch_panic_of;

/// Reports whether background tasks are alive, and which one panicked first. Clones share the state.
///
/// If one of the framework's own tasks panics, the process looks healthy but does only half of its
/// work. The owner of the process waits for [`first_panic`](Self::first_panic) and ends the process.
#[derive(Clone, Default)]
pub struct TaskMonitor {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    first: OnceLock<String>,
    panicked: CancellationToken,
}

impl TaskMonitor {
    /// Creates a monitor without any panic so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `task`. If it panics, logs and remembers the panic and returns `None`.
    pub async fn run<F: Future>(&self, name: impl fmt::Display, task: F) -> Option<F::Output> {
        match catch_panic_of(task).await {
            Ok(output) => Some(output),
            Err(reason) => {
                tracing::error!("the background task {name} panicked: {reason}");
                // Only the first panic is remembered; later ones are in the log.
                let _ = self.inner.first.set(format!("{name} panicked: {reason}"));
                self.inner.panicked.cancel();
                None
            }
        }
    }

    /// Waits until a task has panicked. Returns its name and the panic's message, such as
    /// `events panicked: index out of bounds`.
    pub async fn first_panic(&self) -> String {
        self.inner.panicked.cancelled().await;
        self.inner.first.get().cloned().unwrap_or_default()
    }
}

impl fmt::Debug for TaskMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMonitor")
            .field("first_panic", &self.inner.first.get())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn the_first_panic_is_remembered_and_wakes_the_waiting_caller() {
        let task_monitor = TaskMonitor::new();
        assert_eq!(task_monitor.run("one", async { 1 }).await, Some(1));
        assert!(task_monitor.first_panic().now_or_never().is_none());
        let broken = async { panic!("no {}", "air") };
        assert_eq!(task_monitor.run("two", broken).await, None::<()>);
        task_monitor.run("three", async { panic!("later") }).await;
        assert_eq!(task_monitor.first_panic().await, "two panicked: no air");
    }
}
