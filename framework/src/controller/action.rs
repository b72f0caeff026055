use std::time::Duration;

use crate::queue::Priority;

/// What should become of a key after a reconcile that went well.
///
/// Whatever it says, a change leads to another reconcile at once.
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
    pub(super) next: Next,
    pub(super) priority: Option<Priority>,
}

/// When the next reconcile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// When something changes.
    Change,
    After(Duration),
    Backoff,
}

impl Action {
    /// Nothing until something changes.
    pub fn wait() -> Self {
        Self::new(Next::Change)
    }

    /// Another reconcile after `delay`, or earlier if something changes. The latest reconcile's
    /// wish counts: one that ends with [`wait`](Self::wait) takes an earlier wish back.
    pub fn requeue_after(delay: Duration) -> Self {
        Self::new(Next::After(delay))
    }

    /// Another reconcile after a delay that grows each time, as after failures, but without
    /// being one: for what is not done yet and says nothing when it is. The first reconcile
    /// that ends otherwise and well resets the delay.
    pub fn requeue() -> Self {
        Self::new(Next::Backoff)
    }

    /// How soon the next reconcile that it asks for has its turn among others that are due. Unless
    /// told it is as urgent as this one was, but never [high](Priority::High).
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    fn new(next: Next) -> Self {
        Self {
            next,
            priority: None,
        }
    }
}
