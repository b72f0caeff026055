use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::{mpsc, watch};

use super::Request;

/// Carries requests from anywhere in the program to a controller; cloning shares it.
///
/// Bounded: [`send`](Self::send) waits while the controller does not keep up, and before it works.
/// Several controllers may take from one channel; each gets everything.
///
/// ```
/// # use std::sync::Arc;
/// # use pilothouse::controller::{Action, Context, Result};
/// use pilothouse::{
///     controller::{Channel, Controller, Reconciler},
///     k8s::api::apps::v1::Deployment,
///     resource::ObjectKey,
/// };
///
/// /// Redeploys what the build server has built anew.
/// struct Redeploy {
///     builds: Channel,
/// }
///
/// impl Reconciler for Redeploy {
///     type Resource = Deployment;
///
///     fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
///         controller.source(self.builds.stream())
///     }
/// #   async fn reconcile(&self, _: Arc<Deployment>, _: &Context<Deployment>) -> Result<Action> {
/// #       Ok(Action::wait())
/// #   }
/// }
///
/// /// Called by the build server, with a clone of the same channel.
/// async fn built(builds: &Channel, namespace: &str, name: &str) {
///     let _stopped = builds.send(ObjectKey::namespaced(namespace, name)).await;
/// }
/// ```
pub struct Channel<T = Request> {
    takers: watch::Sender<Takers<T>>,
    capacity: usize,
}

struct Takers<T> {
    /// Whether there ever was one.
    begun: bool,
    senders: Vec<mpsc::Sender<T>>,
}

/// Nobody takes from a [`Channel`] any more: its controllers have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("send to a controller: no controller takes from this channel any more")]
pub struct Closed;

impl<T: Clone + Send + 'static> Channel<T> {
    /// A channel that keeps up to 64 items for each taker.
    pub fn new() -> Self {
        Self::with_capacity(64)
    }

    /// A channel that keeps up to `capacity` items for each taker, at least one.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            takers: watch::Sender::new(Takers {
                begun: false,
                senders: Vec::new(),
            }),
            capacity: capacity.max(1),
        }
    }

    /// Hands `item` to every taker; waits for the first taker to come, and for room. If it is dropped before
    /// it is done some takers may have the item and others not.
    ///
    /// # Errors
    /// There were takers, and all of them are gone.
    pub async fn send(&self, item: impl Into<T>) -> Result<(), Closed> {
        let item = item.into();
        let mut takers = self.takers.subscribe();
        let senders = match takers.wait_for(|takers| takers.begun).await {
            Ok(takers) => takers.senders.clone(),
            Err(_) => return Err(Closed),
        };
        let mut taken = false;
        for sender in senders {
            taken |= sender.send(item.clone()).await.is_ok();
        }
        if taken {
            return Ok(());
        }
        self.takers
            .send_modify(|takers| takers.senders.retain(|sender| !sender.is_closed()));
        Err(Closed)
    }

    /// All that is sent from now on, for [`Controller::source`](super::super::Controller::source).
    pub fn stream(&self) -> ChannelStream<T> {
        let (sender, items) = mpsc::channel(self.capacity);
        self.takers.send_modify(|takers| {
            takers.begun = true;
            takers.senders.retain(|sender| !sender.is_closed());
            takers.senders.push(sender);
        });
        ChannelStream { items }
    }
}

impl<T: Clone + Send + 'static> Default for Channel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Channel<T> {
    fn clone(&self) -> Self {
        Self {
            takers: self.takers.clone(),
            capacity: self.capacity,
        }
    }
}

impl<T> fmt::Debug for Channel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("capacity", &self.capacity)
            .field("takers", &self.takers.borrow().senders.len())
            .finish()
    }
}

/// What is sent to a [`Channel`].
#[derive(Debug)]
pub struct ChannelStream<T = Request> {
    items: mpsc::Receiver<T>,
}

impl<T> Stream for ChannelStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.items.poll_recv(cx)
    }
}
