use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use tokio::sync::watch;

use super::{
    Event, Readiness, Subscription, coalesced::Coalesced, listener::Hear, origin::Origin,
    readiness::Ready,
};
use crate::{
    metrics::{ListenerMetrics, Share},
    resource::Object,
};

/// The changes of a cache as a stream, for a listener that takes its time.
///
/// What was not taken yet waits, of each object at most one event: a later one is merged with it
/// into what both are together. So the informer never waits for the stream, the stream holds no
/// more events than there are objects, and still:
///
/// * of two versions the old one is that of the first event, the new one that of the last;
/// * what came and went before it was taken is not told at all;
/// * what went and came again is [`Event::Recreated`], or [`Event::Updated`] if it is the same object
///   (by UID), or nothing if it is the same version;
/// * what was replaced and then went is the deletion of the object that was known before, with
///   `final_state_known: false`;
/// * what does not decode bears as `last` the version that was known before;
/// * objects come in the order of their oldest change that was not taken.
///
/// Folding the events gives the cache's state, as it does for a function. The stream ends when the
/// informer has stopped and all was taken. Dropping it removes the listener.
pub struct EventStream<K: Object> {
    shared: Arc<Shared<K>>,
    subscription: Subscription,
}

/// The informer's side of an [`EventStream`].
pub(super) struct Feeder<K: Object> {
    shared: Arc<Shared<K>>,
    metrics: ListenerMetrics,
}

struct Shared<K> {
    backlog: Share,
    state: Mutex<State<K>>,
}

struct State<K> {
    waiting: Coalesced<K>,
    waker: Option<Waker>,
    /// The informer's side is gone.
    ended: bool,
    /// All before it belongs to the first list, or to what a late listener begins with.
    initial_until: Option<u64>,
    /// Gone when it will not become ready any more.
    ready: Option<watch::Sender<Ready>>,
}

/// The two sides of a stream, and what becomes ready when the first list has been worked on.
pub(super) fn buffer<K: Object>(
    metrics: ListenerMetrics,
) -> (
    Feeder<K>,
    watch::Receiver<Ready>,
    impl FnOnce(Subscription) -> EventStream<K>,
) {
    let ready = watch::Sender::new(Ready::NotYet);
    let readiness = ready.subscribe();
    let shared = Arc::new(Shared {
        backlog: Share::of(&metrics.backlog),
        state: Mutex::new(State {
            waiting: Coalesced::new(),
            waker: None,
            ended: false,
            initial_until: None,
            ready: Some(ready),
        }),
    });
    let feeder = Feeder {
        shared: shared.clone(),
        metrics,
    };
    let stream = |subscription| EventStream {
        shared,
        subscription,
    };
    (feeder, readiness, stream)
}

impl<K: Object> EventStream<K> {
    /// How many events wait to be taken.
    pub fn pending(&self) -> usize {
        self.shared.state().waiting.len()
    }

    /// Its place at the informer. It has synced when all that the first list held was taken, and the
    /// stream was asked for more.
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Ready when all that the first list held (or the cache, for a late stream) was taken, and the
    /// stream was asked for more.
    pub fn readiness(&self) -> Readiness {
        self.subscription.readiness()
    }
}

impl<K: Object> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let mut state = self.shared.state();
        let initial_until = state.initial_until;
        if initial_until.is_some_and(|mark| state.waiting.is_past(mark)) {
            // Whoever asks for more has worked on what it got.
            if let Some(ready) = state
                .ready
                .as_ref()
                .filter(|one| *one.borrow() != Ready::Yes)
            {
                ready.send_replace(Ready::Yes);
            }
        }
        let event = state.waiting.pop();
        if event.is_some() {
            self.shared.backlog.set(state.waiting.len());
            return Poll::Ready(event);
        }
        if state.ended {
            return Poll::Ready(None);
        }
        if !state
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            state.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl<K: Object> Drop for EventStream<K> {
    fn drop(&mut self) {
        drop(self.subscription.remove());
        let mut state = self.shared.state();
        let waiting = std::mem::replace(&mut state.waiting, Coalesced::new());
        state.ready = None;
        state.waker = None;
        drop(state);
        self.shared.backlog.set(0);
        // Objects are let go of outside of the lock.
        drop(waiting);
    }
}

impl<K: Object> Hear<K> for Feeder<K> {
    fn hear(&mut self, event: &Event<K>, origin: Origin) {
        self.shared.change(|state| {
            if origin == Origin::Present {
                state.waiting.begin(event);
            } else if state.waiting.push(event) {
                self.metrics.coalesced.inc();
            }
        });
    }

    fn all_told(&mut self) {
        self.shared
            .change(|state| state.initial_until = Some(state.waiting.mark()));
    }
}

impl<K: Object> Drop for Feeder<K> {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.ended = true;
            if state.initial_until.is_none() {
                state.ready = None;
            }
        });
    }
}

impl<K: Object> Shared<K> {
    /// Changes the state for whoever waits for the stream.
    fn change(&self, change: impl FnOnce(&mut State<K>)) {
        let mut state = self.state();
        change(&mut state);
        self.backlog.set(state.waiting.len());
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // Objects' own code runs nowhere under the lock but for reading names and versions.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts only: objects may hold secrets.
impl<K: Object> fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("pending", &self.pending())
            .field("subscription", &self.subscription)
            .finish()
    }
}
