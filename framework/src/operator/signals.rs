use std::{
    io, process,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::error::{INTERRUPTED, OVERTIME};

/// The process has ended by this time after the start of the stop, even if something hangs.
const LAST: Duration = Duration::from_millis(28_900);

/// Handles SIGTERM and Ctrl-C, and ends the process if it does not end by itself in time.
///
/// It has its own thread and runtime, because reconciles that block their threads may block the whole runtime of the
/// program.
pub(super) struct SignalWatch {
    over: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// The tokens that the thread uses.
pub(super) struct StopTokens {
    /// Cancelled by the first signal.
    pub(super) cancel: CancellationToken,
    /// Cancelled by the operator when it begins to stop by itself.
    pub(super) stopping: CancellationToken,
}

impl SignalWatch {
    /// Starts the thread. From now on the signals do not end the process by themselves.
    pub(super) fn start(tokens: StopTokens) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()?
        };
        let over = CancellationToken::new();
        let until = over.clone();
        let watch = move || watch(&runtime, signals, &tokens, &until);
        let thread = thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(Self {
            over,
            thread: Some(thread),
        })
    }
}

fn watch(runtime: &Runtime, mut signals: Signals, tokens: &StopTokens, over: &CancellationToken) {
    let code = runtime.block_on(async {
        let mut was_signalled = false;
        let late = async {
            // Losing a branch is safe: both tokens stay cancelled.
            tokio::select! {
                () = tokens.cancel.cancelled() => {}
                () = tokens.stopping.cancelled() => {}
            }
            tokio::time::sleep(LAST).await;
        };
        tokio::pin!(late);
        loop {
            tokio::select! {
                biased;
                () = over.cancelled() => return None,
                () = signals.next() => {
                    if was_signalled {
                        return Some(INTERRUPTED);
                    }
                    was_signalled = true;
                    tracing::info!("stopping: a second signal ends the process at once");
                    tokens.cancel.cancel();
                }
                () = &mut late => {
                    tracing::error!("the operator has not stopped in time: ending the process with exit code 3");
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
            // The thread only waits, or ends the process.
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

    /// Waits for the next signal.
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
