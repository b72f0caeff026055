use std::fmt;

use serde::de::DeserializeOwned;

use super::{Denied, Operation, admission::read, review::ReviewRequest};
use crate::resource::DynamicObject;

/// What a request would change, for a [validation](super::Validate).
#[derive(Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "clippy takes `K` for empty")]
pub enum Change<K> {
    /// An object is created.
    Create {
        /// The object, as it would be stored.
        new: K,
    },
    /// An object is changed. If a subresource is updated, both have the whole object.
    Update {
        /// The object before the request.
        old: K,
        /// The object, as it would be stored.
        new: K,
    },
    /// An object is deleted.
    Delete {
        /// The object.
        old: K,
    },
    /// A user connects to an object. [`Admission::name`](super::Admission::name) tells to which.
    Connect {
        /// The options of the connection, such as a `PodExecOptions` with the command.
        options: DynamicObject,
    },
}

impl<K> Change<K> {
    /// The object after the request. `None` if it is deleted or only connected to.
    pub fn new_object(&self) -> Option<&K> {
        match self {
            Self::Create { new } | Self::Update { new, .. } => Some(new),
            Self::Delete { .. } | Self::Connect { .. } => None,
        }
    }

    /// The object before the request. `None` if it is created or only connected to.
    pub fn old_object(&self) -> Option<&K> {
        match self {
            Self::Update { old, .. } | Self::Delete { old } => Some(old),
            Self::Create { .. } | Self::Connect { .. } => None,
        }
    }

    /// What the request does.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Create { .. } => Operation::Create,
            Self::Update { .. } => Operation::Update,
            Self::Delete { .. } => Operation::Delete,
            Self::Connect { .. } => Operation::Connect,
        }
    }
}

impl<K: DeserializeOwned> Change<K> {
    /// Reads the objects of a request.
    pub(super) fn of(request: &ReviewRequest) -> Result<Self, Denied> {
        let new = || request.object.as_deref().ok_or_else(|| missing("object"));
        let old = || {
            let old = request.old_object.as_deref();
            read(
                old.ok_or_else(|| missing("oldObject"))?,
                "the stored object",
            )
        };
        Ok(match request.operation {
            Operation::Create => Self::Create {
                new: read(new()?, "the object")?,
            },
            Operation::Update => Self::Update {
                old: old()?,
                new: read(new()?, "the object")?,
            },
            Operation::Delete => Self::Delete { old: old()? },
            Operation::Connect => Self::Connect {
                options: read(new()?, "the object with the options of the connection")?,
            },
        })
    }
}

pub(super) fn missing(field: &str) -> Denied {
    Denied::with(
        400,
        "BadRequest",
        format!("the review has no `request.{field}`"),
    )
}

/// Shows no part of the objects, because they may be Secrets.
impl<K> fmt::Debug for Change<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change({})", self.operation())
    }
}
