use std::sync::Arc;

use crate::client::{BoxError, error::FenceClosed};

/// A condition under which a request may be sent. A request that passed a
/// [`FenceLayer`](crate::client::stack::FenceLayer) carries it as an extension, so that the
/// connection can check it again.
#[derive(Clone)]
pub(crate) struct Fence(Arc<dyn Fn() -> Result<(), BoxError> + Send + Sync>);

impl Fence {
    pub(crate) fn new(may_send: impl Fn() -> Result<(), BoxError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(may_send))
    }

    /// A fence that is open while both are open.
    pub(crate) fn and(self, other: Self) -> Self {
        Self::new(move || (self.0)().and_then(|()| (other.0)()))
    }

    /// Whether `other` is a clone of this fence. Another fence with an equal condition is not.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn check(&self) -> Result<(), FenceClosed> {
        (self.0)().map_err(FenceClosed)
    }
}
