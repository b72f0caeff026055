use std::{
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use super::sync::Mutex;

/// Wakes a task for one part of its work, and knows whether that part must be polled. A part is a connection that the
/// task drives, or one of several sources that it reads.
///
/// A part that wakes itself while it is polled does not wake the task, unless the poll returns `Pending`: a task that
/// got an item polls again anyway. Without this, a task that is woken while it runs goes to the end of its thread's
/// queue, and the runtime wakes another thread that may steal it. That costs two system calls and an idle run of a
/// thread, before anything that the task woke for good reason runs.
pub(crate) struct PartWaker {
    state: Arc<SharedPart>,
    waker: Waker,
}

/// The only foreign code that runs under this lock is a waker's own.
struct SharedPart(Mutex<PartState>);

struct PartState {
    phase: Phase,
    task: Waker,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The part returned `Pending` and was not woken since.
    Waits,
    /// The part must be polled.
    Due,
    /// The part is being polled, and was not woken since the poll began.
    Polled,
}

impl PartWaker {
    /// The part must be polled at once.
    pub(crate) fn new() -> Self {
        let state = Arc::new(SharedPart(Mutex::new(PartState {
            phase: Phase::Due,
            task: Waker::noop().clone(),
        })));
        let waker = state.clone().into();
        Self { state, waker }
    }

    /// Polls the part if it was woken. `poll` returns an item and whether there may be another. If there may be, the
    /// part must be polled again at once. Otherwise it must be polled when the waker of this poll is called.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<(T, bool)>,
    ) -> Poll<T> {
        let mut state = self.state.0.lock();
        state.task.clone_from(cx.waker());
        if state.phase == Phase::Waits {
            return Poll::Pending;
        }
        state.phase = Phase::Polled;
        drop(state);
        let polled = poll(&mut Context::from_waker(&self.waker));
        let mut state = self.state.0.lock();
        let was_woken = state.phase != Phase::Polled;
        let has_more = matches!(polled, Poll::Ready((_, true)));
        state.phase = match was_woken || has_more {
            true => Phase::Due,
            false => Phase::Waits,
        };
        drop(state);
        if was_woken && polled.is_pending() {
            // The part wants to continue after other tasks had their turn.
            cx.waker().wake_by_ref();
        }
        polled.map(|(given, _)| given)
    }
}

impl Wake for SharedPart {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.0.lock();
        let phase = std::mem::replace(&mut state.phase, Phase::Due);
        if phase == Phase::Waits {
            let task = state.task.clone();
            drop(state);
            task.wake();
        }
    }
}
