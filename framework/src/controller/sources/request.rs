use crate::{queue::Priority, resource::ObjectKey};

/// What a stream of the user asks for: a reconcile of one object, or of all objects.
///
/// An [`ObjectKey`] converts into a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `None` means all objects.
    pub(super) key: Option<ObjectKey>,
    pub(super) priority: Priority,
}

impl Request {
    /// A reconcile of the object with that key, with [`Priority::Normal`].
    pub fn of(key: ObjectKey) -> Self {
        Self {
            key: Some(key),
            priority: Priority::Normal,
        }
    }

    /// A reconcile of each object in the cache, with [`Priority::Low`].
    pub fn all() -> Self {
        Self {
            key: None,
            priority: Priority::Low,
        }
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }
}

impl From<ObjectKey> for Request {
    fn from(key: ObjectKey) -> Self {
        Self::of(key)
    }
}
