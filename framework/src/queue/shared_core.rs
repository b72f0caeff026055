use std::{
    collections::VecDeque,
    hash::Hash,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    Note,
    core::{Core, GroupOf},
    run::{End, Next, RunToken, TakenRuns},
    sync::Mutex,
};

/// The state machine behind a lock, with the list of workers that wait for a key.
///
/// Every change that can give a waiting worker something to do (a key became ready, or there is an earlier deadline)
/// removes one worker from the wait list and wakes it. A worker that was woken but goes away without asking again
/// wakes the next one in its place. So whenever a key is ready, either no worker waits, or at least one is on its
/// way.
///
/// One of the waiting workers, the timer waiter, sleeps until the next deadline for all of them. A worker that takes
/// a key while there is a deadline and no timer waiter wakes another worker.
///
/// The loom model in `tests/model` compiles this file.
pub(super) struct SharedCore<K, N, O> {
    state: Mutex<LockedState<K, N, O>>,
}

struct LockedState<K, N, O> {
    core: Core<K, N>,
    observer: O,
    workers: WaitList,
    drains: WaitList,
    /// Drains end even if the queue is not empty.
    abandoned: bool,
}

/// Receives what happens in a queue. Its methods are called under the queue's lock and must be quick.
pub(super) trait QueueObserver {
    /// `count` keys became ready.
    fn added(&self, count: u64);
    /// A run begins; its key had been ready for `waited`.
    fn started(&self, waited: Duration);
    /// A run ended after `worked`.
    fn finished(&self, worked: Duration);
}

/// The entry of a future in a [`WaitList`]. A future is woken at most once for each entry.
#[derive(Debug, Default)]
pub(super) struct Waiter {
    number: Option<u64>,
}

/// The share of a worker is computed for this many workers: a worker takes several keys only if more are ready than
/// one for each of them.
const WORKERS_ASSUMED: usize = 32;

/// The answer to a worker that asks for keys.
pub(super) enum TakeOutcome {
    /// The worker goes on with what it took. If it took nothing, the queue is closed and empty, and the worker ends.
    Proceed,
    /// The worker sleeps until its waker is called, or until the deadline if there is one.
    Sleep(Option<Duration>),
}

impl<K: Clone + Eq + Hash, N: Note, O: QueueObserver> SharedCore<K, N, O> {
    pub(super) fn new(group_of: Option<GroupOf<K>>, observer: O) -> Self {
        Self {
            state: Mutex::new(LockedState {
                core: Core::new(group_of),
                observer,
                workers: WaitList::default(),
                drains: WaitList::default(),
                abandoned: false,
            }),
        }
    }

    /// Changes the state by calling `change`, and wakes the workers that the change concerns.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Core<K, N>) -> T) -> T {
        let mut state = self.state.lock();
        let before = (state.core.len(), state.core.next_deadline());
        let result = change(&mut state.core);
        let wake = state.changed(before);
        drop(state);
        wake.wake();
        result
    }

    /// Reports the finished runs of `taken`, and puts new runs into it: up to its maximum, but no more than the
    /// worker's share. If there is no run, puts `waiter` into the wait list.
    pub(super) fn take(
        &self,
        waiter: &mut Waiter,
        taken: &mut TakenRuns<K, N>,
        now: Duration,
        cx: &Context<'_>,
    ) -> TakeOutcome {
        let mut state = self.state.lock();
        for token in taken.finished.drain(..) {
            state.core.end(token, End::Success, now);
        }
        let next = state.core.next(now);
        state.tell_added();
        match next {
            Next::Work(run) => {
                let share = 1 + state.core.len() / WORKERS_ASSUMED;
                let more = taken.max_size.min(share).saturating_sub(1);
                taken.unstarted.push_back(run);
                taken
                    .unstarted
                    .extend((0..more).map_while(|_| state.core.start(now)));
                let waited = taken.unstarted.iter().map(|run| run.waited);
                waited.for_each(|waited| state.observer.started(waited));
                state.workers.leave(waiter);
                // This worker may have taken a key that another worker was woken for, and the deadlines may have made
                // several keys ready at once: another worker must look.
                let is_unwatched =
                    state.core.next_deadline().is_some() && !state.workers.has_timer_waiter();
                let wake = match state.core.len() > 0 || is_unwatched {
                    true => state.workers.call_one(),
                    false => Wake::Nobody,
                };
                drop(state);
                wake.wake();
                TakeOutcome::Proceed
            }
            Next::Wait(deadline) => {
                state.workers.enter(waiter, cx.waker());
                TakeOutcome::Sleep(deadline.filter(|_| state.workers.watch_deadline(waiter)))
            }
            Next::Closed => {
                state.workers.leave(waiter);
                // The last run may have been that of this worker.
                let wake = state.call_at_end();
                drop(state);
                wake.wake();
                TakeOutcome::Proceed
            }
        }
    }

    /// Removes a worker that took nothing.
    pub(super) fn give_up(&self, waiter: &mut Waiter) {
        let mut state = self.state.lock();
        // If this worker was woken, no other worker was: wake the next one. The same goes for the duty of the timer
        // waiter.
        let kept = state.workers.has_timer_waiter();
        let called = state.workers.leave(waiter) == Departure::Called;
        let wake = match called || kept != state.workers.has_timer_waiter() {
            true => state.workers.call_one(),
            false => Wake::Nobody,
        };
        drop(state);
        wake.wake();
    }

    /// Ends the run of `token`, after `last` has requested what follows.
    pub(super) fn end<T>(
        &self,
        token: RunToken,
        end: End,
        now: Duration,
        last: impl FnOnce(&mut Core<K, N>, &RunToken) -> T,
    ) -> T {
        let mut state = self.state.lock();
        let before = (state.core.len(), state.core.next_deadline());
        let result = last(&mut state.core, &token);
        let worked = state.core.end(token, end, now);
        state.observer.finished(worked);
        let wake = state.changed(before);
        drop(state);
        wake.wake();
        result
    }

    /// Reports the finished runs of a worker, and takes back the runs that it did not begin.
    pub(super) fn return_unstarted(&self, taken: &mut TakenRuns<K, N>, now: Duration) {
        let mut state = self.state.lock();
        let before = (state.core.len(), state.core.next_deadline());
        for token in taken.finished.drain(..) {
            state.core.end(token, End::Success, now);
        }
        // The last one first, so that each comes before the next again.
        for run in taken.unstarted.drain(..).rev() {
            state.core.put_back(run);
        }
        let wake = state.changed(before);
        drop(state);
        wake.wake();
    }

    /// Ignores further adds, and wakes everybody who waits. With `abandon`, drains end at once.
    pub(super) fn shut_down(&self, abandon: bool) {
        let mut state = self.state.lock();
        state.core.shut_down();
        state.abandoned |= abandon;
        let mut wake = state.workers.call_all();
        if state.abandoned || state.core.is_drained() {
            wake = wake.and(state.drains.call_all());
        }
        drop(state);
        wake.wake();
    }

    /// Ready after a shutdown when nothing is left to do, or when drains were abandoned.
    pub(super) fn poll_drained(&self, waiter: &mut Waiter, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if !state.core.is_open() && (state.abandoned || state.core.is_drained()) {
            state.drains.leave(waiter);
            return Poll::Ready(());
        }
        state.drains.enter(waiter, cx.waker());
        Poll::Pending
    }

    /// Removes a drain that no longer waits.
    pub(super) fn leave_drained(&self, waiter: &mut Waiter) {
        self.state.lock().drains.leave(waiter);
    }

    /// Calls `read` with the state.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Core<K, N>) -> T) -> T {
        read(&self.state.lock().core)
    }

    // The state is consistent after a panic. Under the lock only this foreign code runs: `Clone`, `Eq` and `Hash` of
    // `K`, the merging of notes, and the functions that compute a key's group and its delay. Each runs before
    // anything that depends on it is changed.
}

impl<K: Clone + Eq + Hash, N: Note, O: QueueObserver> LockedState<K, N, O> {
    fn changed(&mut self, (ready, deadline): (usize, Option<Duration>)) -> Wake {
        self.tell_added();
        let earlier = match (self.core.next_deadline(), deadline) {
            (Some(now), Some(before)) => now < before,
            (now, before) => now.is_some() && before.is_none(),
        };
        let mut wake = match self.core.len() > ready {
            true => self.workers.call_one(),
            false => Wake::Nobody,
        };
        if earlier {
            wake = wake.and(self.workers.call_timer_waiter());
        }
        if !self.core.is_open() && self.core.is_drained() {
            wake = wake.and(self.call_at_end());
        }
        wake
    }

    /// Wakes the workers and the drains that waited for the last run to end.
    fn call_at_end(&mut self) -> Wake {
        let workers = self.workers.call_all();
        workers.and(self.drains.call_all())
    }

    fn tell_added(&mut self) {
        let added = self.core.take_added();
        if added > 0 {
            self.observer.added(added);
        }
    }
}

/// Futures that wait. The one that has waited longest is woken first.
#[derive(Default)]
struct WaitList {
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
    /// Which of the waiting workers sleeps until the next deadline.
    timer_waiter: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Departure {
    /// It was not in the list.
    Absent,
    /// It was in the list.
    Waiting,
    /// It had been woken.
    Called,
}

impl WaitList {
    fn enter(&mut self, waiter: &mut Waiter, waker: &Waker) {
        if let Some(number) = waiter.number
            && let Some((_, present)) = self.waiting.iter_mut().find(|(n, _)| *n == number)
        {
            present.clone_from(waker);
            return;
        }
        waiter.number = Some(self.next);
        self.waiting.push_back((self.next, waker.clone()));
        self.next += 1;
    }

    fn leave(&mut self, waiter: &mut Waiter) -> Departure {
        let Some(number) = waiter.number.take() else {
            return Departure::Absent;
        };
        match self.waiting.iter().position(|(n, _)| *n == number) {
            Some(place) => {
                self.waiting.remove(place);
                self.timer_waiter
                    .take_if(|timer_waiter| *timer_waiter == number);
                Departure::Waiting
            }
            None => Departure::Called,
        }
    }

    /// Makes `waiter` the timer waiter unless there is another one. Returns whether it is the timer waiter now.
    fn watch_deadline(&mut self, waiter: &Waiter) -> bool {
        let timer_waiter = self.timer_waiter.or(waiter.number);
        self.timer_waiter = timer_waiter;
        timer_waiter == waiter.number
    }

    fn has_timer_waiter(&self) -> bool {
        self.timer_waiter.is_some()
    }

    /// Wakes the worker that has waited longest; the timer waiter only if there is no other.
    fn call_one(&mut self) -> Wake {
        let timer_waiter = self.timer_waiter;
        let place = self
            .waiting
            .iter()
            .position(|(n, _)| Some(*n) != timer_waiter);
        match place.and_then(|place| self.waiting.remove(place)) {
            Some((_, waker)) => Wake::One(waker),
            None => self.call_timer_waiter(),
        }
    }

    /// Wakes the timer waiter, or the first worker if there is no timer waiter.
    fn call_timer_waiter(&mut self) -> Wake {
        let timer_waiter = self.timer_waiter.take();
        let place = match timer_waiter {
            Some(timer_waiter) => self.waiting.iter().position(|(n, _)| *n == timer_waiter),
            None => Some(0),
        };
        match place.and_then(|place| self.waiting.remove(place)) {
            Some((_, waker)) => Wake::One(waker),
            None => Wake::Nobody,
        }
    }

    fn call_all(&mut self) -> Wake {
        self.timer_waiter = None;
        Wake::Many(self.waiting.drain(..).map(|(_, waker)| waker).collect())
    }
}

/// Wakers to call after the lock is released.
#[must_use]
enum Wake {
    Nobody,
    One(Waker),
    Many(Vec<Waker>),
}

impl Wake {
    fn and(self, other: Self) -> Self {
        let mut wakers = self.into_wakers();
        wakers.extend(other.into_wakers());
        Self::Many(wakers)
    }

    fn into_wakers(self) -> Vec<Waker> {
        match self {
            Self::Nobody => Vec::new(),
            Self::One(waker) => vec![waker],
            Self::Many(wakers) => wakers,
        }
    }

    fn wake(self) {
        match self {
            Self::Nobody => {}
            Self::One(waker) => waker.wake(),
            Self::Many(wakers) => wakers.into_iter().for_each(Waker::wake),
        }
    }
}
