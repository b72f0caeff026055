use std::{
    collections::VecDeque,
    hash::Hash,
    sync::PoisonError,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::{
    Note,
    core::{Core, End, GroupOf, Next, Seat},
    held::Held,
    sync::{Mutex, MutexGuard},
};

/// The state machine behind a lock, with the workers that wait for it.
///
/// Every change that can give a sleeping worker something to do (a key that became ready, an
/// earlier deadline) takes one worker out of the line and wakes it; a worker that was woken and
/// goes away without having asked again passes the call on. So whenever a key is ready, either no
/// worker waits or one is on its way. One of those who wait, the keeper, has the deadline to watch
/// for all of them; a worker that takes work while nobody keeps a deadline calls another.
///
/// The loom model in `tests/model` compiles this file.
pub(super) struct Shared<K, N, O> {
    state: Mutex<State<K, N, O>>,
}

struct State<K, N, O> {
    core: Core<K, N>,
    observer: O,
    workers: Line,
    drainers: Line,
    /// Those who wait for the end need not wait until the queue is empty.
    abandoned: bool,
}

/// Is told what happens in a queue, under its lock: it must be quick.
pub(super) trait Observe {
    /// `count` keys became ready.
    fn added(&self, count: u64);
    /// A run begins; its key had been ready for `waited`.
    fn started(&self, waited: Duration);
    /// A run ended after `worked`.
    fn finished(&self, worked: Duration);
}

/// The place of a future in a [`Line`]; at most one call is on its way to it.
#[derive(Debug, Default)]
pub(super) struct Ticket {
    number: Option<u64>,
}

/// A worker takes several keys only of what is beyond one for so many workers.
const SHARES: usize = 32;

/// What a worker that asks for work is told.
pub(super) enum Asked {
    /// Work on what it holds now; if that is nothing, end: the queue is closed and empty.
    Now,
    /// Sleep until the waker is called, or until the deadline if there is one.
    Sleep(Option<Duration>),
}

impl<K: Clone + Eq + Hash, N: Note, O: Observe> Shared<K, N, O> {
    pub(super) fn new(group_of: Option<GroupOf<K>>, observer: O) -> Self {
        Self {
            state: Mutex::new(State {
                core: Core::new(group_of),
                observer,
                workers: Line::default(),
                drainers: Line::default(),
                abandoned: false,
            }),
        }
    }

    /// Changes the state by `change` and wakes who must know of it.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Core<K, N>) -> T) -> T {
        let mut state = self.lock();
        let before = (state.core.len(), state.core.next_deadline());
        let result = change(&mut state.core);
        let wake = state.changed(before);
        drop(state);
        wake.wake();
        result
    }

    /// Asks for work, as a worker whose place in the line is `ticket`, after what it holds as done has ended. What it is
    /// given it holds: as many keys as it likes, but no more than its share.
    pub(super) fn ask(
        &self,
        ticket: &mut Ticket,
        held: &mut Held<K, N>,
        now: Duration,
        cx: &Context<'_>,
    ) -> Asked {
        let mut state = self.lock();
        for seat in held.done.drain(..) {
            state.core.end(seat, End::Success, now);
        }
        let next = state.core.next(now);
        state.tell_added();
        match next {
            Next::Work(run) => {
                let share = 1 + state.core.len() / SHARES;
                let more = held.size.min(share).saturating_sub(1);
                held.runs.push_back(run);
                held.runs
                    .extend((0..more).map_while(|_| state.core.start(now)));
                let waited = held.runs.iter().map(|run| run.waited);
                waited.for_each(|waited| state.observer.started(waited));
                state.workers.leave(ticket);
                // This worker may have taken a key that another one was woken for, and deadlines
                // may have made several keys ready at once: somebody else must look.
                let unkept = state.core.next_deadline().is_some() && !state.workers.has_keeper();
                let wake = match state.core.len() > 0 || unkept {
                    true => state.workers.call_one(),
                    false => Wake::Nobody,
                };
                drop(state);
                wake.wake();
                Asked::Now
            }
            Next::Wait(deadline) => {
                state.workers.enter(ticket, cx.waker());
                Asked::Sleep(deadline.filter(|_| state.workers.keep(ticket)))
            }
            Next::Closed => {
                state.workers.leave(ticket);
                // It may be its own work that was the last.
                let wake = state.call_at_end();
                drop(state);
                wake.wake();
                Asked::Now
            }
        }
    }

    /// A worker goes away without having been given anything.
    pub(super) fn give_up(&self, ticket: &mut Ticket) {
        let mut state = self.lock();
        // Had it been called, nobody else was: the call is passed on, and so is the keeping.
        let kept = state.workers.has_keeper();
        let called = state.workers.leave(ticket) == Left::Called;
        let wake = match called || kept != state.workers.has_keeper() {
            true => state.workers.call_one(),
            false => Wake::Nobody,
        };
        drop(state);
        wake.wake();
    }

    /// Ends the run in `seat`, after `last` has asked for what is to follow.
    pub(super) fn end<T>(
        &self,
        seat: Seat,
        end: End,
        now: Duration,
        last: impl FnOnce(&mut Core<K, N>, &Seat) -> T,
    ) -> T {
        let mut state = self.lock();
        let before = (state.core.len(), state.core.next_deadline());
        let result = last(&mut state.core, &seat);
        let worked = state.core.end(seat, end, now);
        state.observer.finished(worked);
        let wake = state.changed(before);
        drop(state);
        wake.wake();
        result
    }

    /// A worker ends what it holds as done, and gives back what it has not begun.
    pub(super) fn lay_down(&self, held: &mut Held<K, N>, now: Duration) {
        let mut state = self.lock();
        let before = (state.core.len(), state.core.next_deadline());
        for seat in held.done.drain(..) {
            state.core.end(seat, End::Success, now);
        }
        // The last first, so that each is before the next again.
        for run in held.runs.drain(..).rev() {
            state.core.put_back(run);
        }
        let wake = state.changed(before);
        drop(state);
        wake.wake();
    }

    /// No more adds; everybody is woken to see it.
    pub(super) fn shut_down(&self, abandon: bool) {
        let mut state = self.lock();
        state.core.shut_down();
        state.abandoned |= abandon;
        let mut wake = state.workers.call_all();
        if state.abandoned || state.core.is_drained() {
            wake = wake.and(state.drainers.call_all());
        }
        drop(state);
        wake.wake();
    }

    /// Ready when nothing is left to do after a shut-down, or the wait was abandoned.
    pub(super) fn poll_drained(&self, ticket: &mut Ticket, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !state.core.is_open() && (state.abandoned || state.core.is_drained()) {
            state.drainers.leave(ticket);
            return Poll::Ready(());
        }
        state.drainers.enter(ticket, cx.waker());
        Poll::Pending
    }

    /// Whoever waited for the end goes away.
    pub(super) fn leave_drained(&self, ticket: &mut Ticket) {
        self.lock().drainers.leave(ticket);
    }

    /// Reads the state.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Core<K, N>) -> T) -> T {
        read(&self.lock().core)
    }

    // The state is consistent after a panic: nothing under the lock runs foreign code but `K`'s
    // `Clone`, `Eq` and `Hash`, the merging of notes, and the functions that name a key's group
    // and its delay; each before what depends on it is changed.
    fn lock(&self) -> MutexGuard<'_, State<K, N, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash, N: Note, O: Observe> State<K, N, O> {
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
            wake = wake.and(self.workers.call_keeper());
        }
        if !self.core.is_open() && self.core.is_drained() {
            wake = wake.and(self.call_at_end());
        }
        wake
    }

    /// Workers that waited for the last run to become dirty learn that it is over.
    fn call_at_end(&mut self) -> Wake {
        let workers = self.workers.call_all();
        workers.and(self.drainers.call_all())
    }

    fn tell_added(&mut self) {
        let added = self.core.take_added();
        if added > 0 {
            self.observer.added(added);
        }
    }
}

/// Futures that wait, first come, first called.
#[derive(Default)]
struct Line {
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
    /// Who of those waiting watches the deadline.
    keeper: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// It never waited.
    Absent,
    /// It was still waiting.
    Waiting,
    /// It had been called.
    Called,
}

impl Line {
    fn enter(&mut self, ticket: &mut Ticket, waker: &Waker) {
        if let Some(number) = ticket.number
            && let Some((_, present)) = self.waiting.iter_mut().find(|(n, _)| *n == number)
        {
            present.clone_from(waker);
            return;
        }
        ticket.number = Some(self.next);
        self.waiting.push_back((self.next, waker.clone()));
        self.next += 1;
    }

    fn leave(&mut self, ticket: &mut Ticket) -> Left {
        let Some(number) = ticket.number.take() else {
            return Left::Absent;
        };
        match self.waiting.iter().position(|(n, _)| *n == number) {
            Some(place) => {
                self.waiting.remove(place);
                self.keeper.take_if(|keeper| *keeper == number);
                Left::Waiting
            }
            None => Left::Called,
        }
    }

    /// Makes `ticket` the keeper unless another one is; whether it is the keeper now.
    fn keep(&mut self, ticket: &Ticket) -> bool {
        let keeper = self.keeper.or(ticket.number);
        self.keeper = keeper;
        keeper == ticket.number
    }

    fn has_keeper(&self) -> bool {
        self.keeper.is_some()
    }

    /// Calls whoever waits for longest, the keeper last.
    fn call_one(&mut self) -> Wake {
        let keeper = self.keeper;
        let place = self.waiting.iter().position(|(n, _)| Some(*n) != keeper);
        match place.and_then(|place| self.waiting.remove(place)) {
            Some((_, waker)) => Wake::One(waker),
            None => self.call_keeper(),
        }
    }

    /// Calls the keeper, or anybody if there is none.
    fn call_keeper(&mut self) -> Wake {
        let keeper = self.keeper.take();
        let place = match keeper {
            Some(keeper) => self.waiting.iter().position(|(n, _)| *n == keeper),
            None => Some(0),
        };
        match place.and_then(|place| self.waiting.remove(place)) {
            Some((_, waker)) => Wake::One(waker),
            None => Wake::Nobody,
        }
    }

    fn call_all(&mut self) -> Wake {
        self.keeper = None;
        Wake::Many(self.waiting.drain(..).map(|(_, waker)| waker).collect())
    }
}

/// Wakers to be called once the lock is free.
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
