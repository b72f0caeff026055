use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::{mpsc, watch};

use super::request::Request;

/// Sends requests from anywhere in the program to a controller. Clones share the channel.
///
/// The channel is bounded: [`send`](Self::send) waits while the controller is too slow, and before it works. Several
/// controllers may read one channel; each gets every item.
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
/// /// Redeploys what the build server has built.
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
    receivers: watch::Sender<Receivers<T>>,
    capacity: usize,
}

struct Receivers<T> {
    /// Whether a receiver ever existed.
    begun: bool,
    senders: Vec<mpsc::Sender<T>>,
}

/// Nothing reads a [`Channel`] any more: its controllers have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "send to a controller: no controller reads this channel any more, all of them have stopped"
)]
pub struct Closed;

/// [`Channel::try_send`] sent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrySendError {
    /// A receiver has no room, or none exists yet. Its controller is slow, or does not work yet, for example on a standby.
    #[error(
        "send to a controller: the channel is full, because its controller is slow or does not work yet, as on a standby"
    )]
    Full,
    /// As [`Closed`].
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl<T: Clone + Send + 'static> Channel<T> {
    /// A channel that keeps up to 64 items for each receiver.
    pub fn new() -> Self {
        Self::with_capacity(64)
    }

    /// A channel that keeps up to `capacity` items for each receiver, at least one.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            receivers: watch::Sender::new(Receivers {
                begun: false,
                senders: Vec::new(),
            }),
            capacity: capacity.max(1),
        }
    }

    /// Sends `item` to every receiver. Waits for the first receiver to exist, and for capacity. If the future is dropped early,
    /// some receivers may have the item and others not.
    ///
    /// # Errors
    /// [`Closed`] if receivers existed and all of them are gone.
    pub async fn send(&self, item: impl Into<T>) -> Result<(), Closed> {
        let item = item.into();
        let mut receivers = self.receivers.subscribe();
        let senders = match receivers.wait_for(|receivers| receivers.begun).await {
            Ok(receivers) => receivers.senders.clone(),
            Err(_) => return Err(Closed),
        };
        let mut is_received = false;
        for sender in senders {
            is_received |= sender.send(item.clone()).await.is_ok();
        }
        if is_received {
            return Ok(());
        }
        self.receivers
            .send_modify(|receivers| receivers.senders.retain(|sender| !sender.is_closed()));
        Err(Closed)
    }

    /// Sends `item` to every receiver, without waiting. For a caller that must not wait, such as a
    /// [route](crate::operator::Operator::route): on a standby nobody reads the channel, so `send` would wait until the process leads.
    ///
    /// # Errors
    /// [`TrySendError::Full`] if no receiver exists yet, or one of them has no room. Then no receiver gets the item. [`TrySendError::Closed`] if
    /// receivers existed and all of them are gone.
    pub fn try_send(&self, item: impl Into<T>) -> Result<(), TrySendError> {
        let receivers = self.receivers.borrow();
        if !receivers.begun {
            return Err(TrySendError::Full);
        }
        let mut places = Vec::with_capacity(receivers.senders.len());
        for sender in &receivers.senders {
            match sender.try_reserve() {
                Ok(place) => places.push(place),
                Err(mpsc::error::TrySendError::Full(())) => return Err(TrySendError::Full),
                Err(mpsc::error::TrySendError::Closed(())) => {}
            }
        }
        if places.is_empty() {
            return Err(Closed.into());
        }
        let item = item.into();
        for place in places {
            place.send(item.clone());
        }
        Ok(())
    }

    /// A new receiver of everything that is sent from now on, for [`Controller::source`](crate::controller::Controller::source).
    pub fn stream(&self) -> ChannelStream<T> {
        let (sender, items) = mpsc::channel(self.capacity);
        self.receivers.send_modify(|receivers| {
            receivers.begun = true;
            receivers.senders.retain(|sender| !sender.is_closed());
            receivers.senders.push(sender);
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
            receivers: self.receivers.clone(),
            capacity: self.capacity,
        }
    }
}

impl<T> fmt::Debug for Channel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("capacity", &self.capacity)
            .field("receivers", &self.receivers.borrow().senders.len())
            .finish()
    }
}

/// One receiver of a [`Channel`].
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_is_sent_without_waiting_reaches_all_receivers_or_none() {
        let channel = Channel::<u8>::with_capacity(1);
        assert_eq!(channel.try_send(0), Err(TrySendError::Full));
        let (mut quick, slow) = (channel.stream(), channel.stream());
        assert_eq!(channel.try_send(1), Ok(()));
        assert_eq!(quick.items.recv().now_or_never(), Some(Some(1)));
        assert_eq!(channel.try_send(2), Err(TrySendError::Full));
        assert_eq!(quick.items.recv().now_or_never(), None);

        drop(slow);
        assert_eq!(channel.try_send(3), Ok(()));
        drop(quick);
        assert_eq!(channel.try_send(4), Err(Closed.into()));
    }
}
