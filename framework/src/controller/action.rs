use std::time::Duration;

/// What should become of a key after a reconcile that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Action {
    pub(super) after: Option<Duration>,
}

impl Action {
    /// Nothing until something changes.
    pub fn wait() -> Self {
        Self { after: None }
    }

    /// Another reconcile after `delay`, or earlier if something changes. The latest reconcile's
    /// wish counts: one that ends with [`wait`](Self::wait) takes an earlier wish back.
    pub fn requeue_after(delay: Duration) -> Self {
        Self { after: Some(delay) }
    }
}
