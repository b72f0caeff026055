use std::{
    sync::{Arc, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use super::sync::{Mutex, MutexGuard};

/// Wakes a task for one part of it, such as a connection that it drives or one of several sources that it reads, and
/// knows whether that part is to be polled.
///
/// While the part is polled, what it does itself wakes nobody, unless it has nothing to give then: who was given
/// something polls again anyway. A task that is woken while it runs goes to the end of its thread's line, and the
/// runtime wakes another thread that might take it from there: two system calls and a thread that runs for nothing,
/// before anything that the task woke for good reason is run.
pub(crate) struct PartWaker {
    state: Arc<Locked>,
    waker: Waker,
}

struct Locked(Mutex<State>);

struct State {
    phase: Phase,
    task: Waker,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It had nothing to give and was not woken since.
    Waits,
    /// It is to be polled.
    Due,
    /// It is being polled, and was not woken since that began.
    Polled,
}

impl PartWaker {
    /// Of a part that is due.
    pub(crate) fn new() -> Self {
        let state = Arc::new(Locked(Mutex::new(State {
            phase: Phase::Due,
            task: Waker::noop().clone(),
        })));
        let waker = state.clone().into();
        Self { state, waker }
    }

    /// Polls the part if it is due. What it gives comes with whether it may have more, so that it is due at once:
    /// if not, it is due when the waker that it was polled with is called.
    pub(crate) fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<(T, bool)>,
    ) -> Poll<T> {
        let mut state = self.state.lock();
        state.task.clone_from(cx.waker());
        if state.phase == Phase::Waits {
            return Poll::Pending;
        }
        state.phase = Phase::Polled;
        drop(state);
        let polled = poll(&mut Context::from_waker(&self.waker));
        let mut state = self.state.lock();
        let was_woken = state.phase != Phase::Polled;
        let has_more = matches!(polled, Poll::Ready((_, true)));
        state.phase = match was_woken || has_more {
            true => Phase::Due,
            false => Phase::Waits,
        };
        drop(state);
        if was_woken && polled.is_pending() {
            // It wants to go on when others have had their turn.
            cx.waker().wake_by_ref();
        }
        polled.map(|(given, _)| given)
    }
}

impl Locked {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under the lock but a waker's own.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Locked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.lock();
        let phase = std::mem::replace(&mut state.phase, Phase::Due);
        if phase == Phase::Waits {
            let task = state.task.clone();
            drop(state);
            task.wake();
        }
    }
}
