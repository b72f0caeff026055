use std::{
    io, process,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::exit::{INTERRUPTED, OVERTIME};

/// Whatever hangs, the process has ended 29 s after it was told to.
const LAST: Duration = Duration::from_millis(28_900);

/// Listens to SIGTERM and Ctrl-C, and ends the process when it has to end and does not.
///
/// On a thread and a runtime of its own: a reconcile that blocks its thread may block all of the program's.
pub(super) struct SignalWatch {
    over: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// What the thread listens to and acts on.
pub(super) struct Ends {
    /// Cancelled by the first signal.
    pub(super) cancel: CancellationToken,
    /// Cancelled by the operator when it begins to stop by itself.
    pub(super) stopping: CancellationToken,
}

impl SignalWatch {
    /// From now on the signals no longer end the process by themselves.
    pub(super) fn start(ends: Ends) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()?
        };
        let over = CancellationToken::new();
        let until = over.clone();
        let watch = move || watch(&runtime, signals, &ends, &until);
        let thread = thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(Self {
            over,
            thread: Some(thread),
        })
    }
}

fn watch(runtime: &Runtime, mut signals: Signals, ends: &Ends, over: &CancellationToken) {
    let code = runtime.block_on(async {
        let mut told = false;
        let late = async {
            // Losing either is safe: both stay cancelled.
            tokio::select! {
                () = ends.cancel.cancelled() => {}
                () = ends.stopping.cancelled() => {}
            }
            tokio::time::sleep(LAST).await;
        };
        tokio::pin!(late);
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return None,
                () = signals.next() => {
                    if told {
                        return Some(INTERRUPTED);
                    }
                    told = true;
                    tracing::info!("stopping; another signal stops at once");
                    ends.cancel.cancel();
                }
                () = &mut late => {
                    tracing::error!("something does not end: the process does");
                    return Some(OVERTIME);
                }
            }
        }
    });
    if let Some(code) = code {
        process::exit(code.into());
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.over.cancel();
        if let Some(thread) = self.thread.take() {
            // It only waits, or ends the process.
            let _ = thread.join();
        }
    }
}

/// The signals that ask the process to end: SIGTERM and Ctrl-C.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// The next of them.
    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
