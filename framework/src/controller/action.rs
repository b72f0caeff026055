use std::time::Duration;

use crate::queue::Priority;

/// When a key is reconciled again after a successful reconcile.
///
/// With every action a change leads to another reconcile at once.
///
/// ```
/// use std::time::Duration;
/// use pilothouse::{controller::Action, queue::Priority};
///
/// let _ = Action::wait();
/// let _ = Action::requeue_after(Duration::from_secs(60)).priority(Priority::Low);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Action {
    pub(crate) next: Next,
    pub(crate) priority: Option<Priority>,
}

/// When the next reconcile begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When something changes.
    Change,
    After(Duration),
    Backoff,
}

impl Action {
    /// No reconcile before something changes.
    pub fn wait() -> Self {
        Self::new(Next::Change)
    }

    /// Another reconcile after `delay`, or earlier if something changes. Only the action of the last reconcile counts: a later
    /// [`wait`](Self::wait) cancels the delay.
    ///
    /// A delay of zero is [`requeue`](Self::requeue): the next reconcile comes after a delay that grows each time. So a
    /// computed delay that has become zero leads to no loop. In controller-runtime `RequeueAfter: 0` means no requeue: write
    /// [`wait`](Self::wait) for that.
    pub fn requeue_after(delay: Duration) -> Self {
        match delay.is_zero() {
            true => Self::requeue(),
            false => Self::new(Next::After(delay)),
        }
    }

    /// Another reconcile after a delay that grows each time, as after failures, but this is no failure. Use it to wait for
    /// something that sends no event when it is done. The next successful reconcile with another action resets the delay.
    pub fn requeue() -> Self {
        Self::new(Next::Backoff)
    }

    /// Sets the priority of the next reconcile among others that are due. The default is the priority of this reconcile, but
    /// never [high](Priority::High).
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The same action, with the next reconcile after `delay` at the latest.
    pub(crate) fn within(mut self, delay: Duration) -> Self {
        self.next = match self.next {
            Next::Change => Next::After(delay),
            Next::After(sooner) => Next::After(sooner.min(delay)),
            Next::Backoff => Next::Backoff,
        };
        self
    }

    /// The delay that it asks for; `None` without one, and with a delay that grows.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self.next {
            Next::After(delay) => Some(delay),
            Next::Change | Next::Backoff => None,
        }
    }

    fn new(next: Next) -> Self {
        Self {
            next,
            priority: None,
        }
    }
}
