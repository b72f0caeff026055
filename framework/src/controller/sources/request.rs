use crate::{queue::Priority, resource::ObjectKey};

/// What a source of the user asks for: a reconcile of one object, or of all.
///
/// A key becomes one by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `None` for all objects.
    pub(super) key: Option<ObjectKey>,
    pub(super) priority: Priority,
}

impl Request {
    /// A reconcile of the object named `key`, with [`Priority::Normal`].
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

    /// How soon it has its turn.
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
