use std::{
    fmt, io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use super::term::{Term, Watched};

/// What happens when work runs although the lease can pass to another soon.
#[derive(Clone)]
pub(super) struct Overdue(pub(super) Arc<dyn Fn() + Send + Sync>);

impl fmt::Debug for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Overdue")
    }
}

/// Watches a term from a thread of its own, so that nothing that blocks the runtime can hide that it
/// is over.
pub(super) struct Watchman {
    thread: Option<JoinHandle<()>>,
    #[cfg(test)]
    task: Option<tokio::task::JoinHandle<()>>,
}

/// A sleeping thread does not notice how long the machine was suspended: it looks this often.
const GLANCE: Duration = Duration::from_millis(500);

impl Watchman {
    pub(super) fn post(term: Arc<Term>, overdue: Overdue) -> io::Result<Self> {
        let thread = thread::Builder::new().name("lease".into()).spawn(move || {
            loop {
                match term.watch() {
                    Watched::Later(time) => thread::park_timeout(time.min(GLANCE)),
                    Watched::Overdue => return (overdue.0)(),
                    Watched::Ended => return,
                }
            }
        })?;
        Ok(Self {
            thread: Some(thread),
            #[cfg(test)]
            task: None,
        })
    }

    /// The same on a clock that a test holds.
    #[cfg(test)]
    pub(super) fn on_the_tests_clock(term: Arc<Term>, overdue: Overdue) -> Self {
        let task = tokio::spawn(async move {
            loop {
                match term.watch() {
                    Watched::Later(time) => {
                        tokio::time::sleep(time.clamp(Duration::from_millis(1), GLANCE)).await;
                    }
                    Watched::Overdue => return (overdue.0)(),
                    Watched::Ended => return,
                }
            }
        });
        Self {
            thread: None,
            task: Some(task),
        }
    }
}

impl Drop for Watchman {
    /// The term has ended: the thread sees it when it wakes, which is now.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only looks at the term once more; if it is the one that drops this, it must not wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        #[cfg(test)]
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}
