use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Subscription, coalesced::CoalescedEvents, listener::EventHandler};
use crate::{
    cache::{Event, EventOrigin, Readiness, readiness::ReadyState},
    metrics::{GaugeShare, ListenerMetrics},
    resource::Object,
};

/// The changes of a cache as a stream, for a slow consumer.
///
/// Events that were not read yet wait, at most one for each object: a later event is merged with the waiting one. So
/// the informer never waits for the stream, and the stream never holds more events than there are objects. Merged
/// events describe the changes together:
///
/// * the old version is that of the first event, and the new version that of the last;
/// * an object that was added and deleted before the stream was read is not delivered at all;
/// * an object that was deleted and added again is [`Event::Recreated`], or [`Event::Updated`] if its UID is the
///   same, or nothing if its resource version is the same;
/// * an object that was replaced and then deleted is the deletion of the object that the reader knew, with
///   `final_state_known: false`;
/// * objects come in the order of their oldest change that was not read.
///
/// Applying the events one after the other gives the state of the cache, as it does for a listener function. The
/// stream ends when the informer has stopped and all events were read. Dropping the stream removes the listener.
pub struct EventStream<K: Object> {
    shared: Arc<StreamShared<K>>,
    subscription: Subscription,
}

/// The informer's side of an [`EventStream`].
pub(in crate::cache) struct StreamFeeder<K: Object> {
    shared: Arc<StreamShared<K>>,
    metrics: ListenerMetrics,
}

struct StreamShared<K> {
    backlog: GaugeShare,
    /// Under this lock the only code of objects that runs reads names and versions.
    state: Mutex<StreamState<K>>,
}

struct StreamState<K> {
    waiting: CoalescedEvents<K>,
    waker: Option<Waker>,
    /// The informer's side is gone.
    ended: bool,
    /// All events before this mark belong to the first list, or to the snapshot that a late stream begins with.
    initial_until: Option<u64>,
    /// `None` once the stream can no longer become ready.
    ready: Option<watch::Sender<ReadyState>>,
}

/// Creates both sides of a stream, and the receiver that becomes ready when the first list has been processed.
pub(in crate::cache) fn event_stream<K: Object>(
    metrics: ListenerMetrics,
) -> (
    StreamFeeder<K>,
    watch::Receiver<ReadyState>,
    impl FnOnce(Subscription) -> EventStream<K>,
) {
    let ready = watch::Sender::new(ReadyState::Pending);
    let readiness = ready.subscribe();
    let shared = Arc::new(StreamShared {
        backlog: GaugeShare::of(&metrics.backlog),
        state: Mutex::new(StreamState {
            waiting: CoalescedEvents::new(),
            waker: None,
            ended: false,
            initial_until: None,
            ready: Some(ready),
        }),
    });
    let feeder = StreamFeeder {
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
    /// The number of events that wait to be read.
    pub fn pending(&self) -> usize {
        self.shared.state.lock().waiting.len()
    }

    /// The stream's subscription. It has synced when all objects of the first list were read and the reader asked for
    /// more.
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Ready when all objects of the first list (or, for a late stream, of the cache) were read and the reader asked
    /// for more.
    pub fn readiness(&self) -> Readiness {
        self.subscription.readiness()
    }
}

impl<K: Object> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let mut state = self.shared.state.lock();
        let initial_until = state.initial_until;
        if initial_until.is_some_and(|mark| state.waiting.is_past(mark)) {
            // A reader that asks for more has processed what it read.
            if let Some(ready) = state
                .ready
                .as_ref()
                .filter(|one| *one.borrow() != ReadyState::Ready)
            {
                ready.send_replace(ReadyState::Ready);
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
        let mut state = self.shared.state.lock();
        let waiting = std::mem::replace(&mut state.waiting, CoalescedEvents::new());
        state.ready = None;
        state.waker = None;
        drop(state);
        self.shared.backlog.set(0);
        // Objects are dropped outside of the lock.
        drop(waiting);
    }
}

impl<K: Object> EventHandler<K> for StreamFeeder<K> {
    fn handle(&mut self, event: &Event<K>, _: EventOrigin) {
        self.shared.change(|state| {
            if state.waiting.push(event) {
                self.metrics.coalesced.inc();
            }
        });
    }

    fn initial_list_delivered(&mut self, _: bool) {
        self.shared
            .change(|state| state.initial_until = Some(state.waiting.mark()));
    }
}

impl<K: Object> Drop for StreamFeeder<K> {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.ended = true;
            if state.initial_until.is_none() {
                state.ready = None;
            }
        });
    }
}

impl<K: Object> StreamShared<K> {
    /// Changes the state and wakes the reader.
    fn change(&self, change: impl FnOnce(&mut StreamState<K>)) {
        let mut state = self.state.lock();
        change(&mut state);
        self.backlog.set(state.waiting.len());
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Shows counts only: objects may hold secrets.
impl<K: Object> fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("pending", &self.pending())
            .field("subscription", &self.subscription)
            .finish()
    }
}
