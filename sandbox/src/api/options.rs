use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::authentication::User;
use crate::record::Audit;
use crate::store::Encoded;

/// The field manager of a write, and how strict the server is with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// The field manager that owns the changed fields.
    pub(crate) manager: String,
    /// The user who sends the request.
    pub(crate) user: User,
    /// Whether the write takes fields that others own.
    pub(crate) force: bool,
    /// Whether the server only returns the result and writes nothing.
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// The paths of names that occur more than once in their object of the body.
    pub(crate) duplicates: Vec<String>,
    /// The options as the request gives them, for those who admit it.
    pub(crate) given: Map<String, Value>,
    pub(crate) audit: Audit,
    /// The name in the path of the request, or an empty text if the path has no name. The server lets the user grant only permissions
    /// that the user has. `None` turns this check off; the sandbox's own controllers use it.
    pub(crate) guard: Option<Box<str>>,
    /// When the server stops to work on the request.
    pub(crate) deadline: Option<Instant>,
    /// Whether webhooks and policies see the write. They see no step that the server takes by itself.
    pub(crate) admitted: bool,
}

impl WriteOptions {
    /// The options of a step that the server takes by itself.
    pub(crate) fn unadmitted(&self) -> Self {
        Self {
            admitted: false,
            ..self.clone()
        }
    }
}

/// What the server does with unknown fields, and with fields that occur twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// It drops them.
    Ignore,
    /// It drops them and warns about each.
    #[default]
    Warn,
    /// It refuses the request.
    Strict,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They stay, without the owner reference.
    Orphan,
    /// They are deleted after their owner.
    Background,
    /// They are deleted before their owner.
    Foreground,
}

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    /// The deprecated form of `propagation`.
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
    /// The user who sends the request.
    pub(crate) user: User,
    pub(crate) audit: Audit,
    /// When the server stops to work on the request.
    pub(crate) deadline: Option<Instant>,
    /// Whether webhooks and policies see the deletion.
    pub(crate) admitted: bool,
}

/// The response to a subresource that is no object.
pub(crate) struct Answered {
    pub(crate) answer: Value,
    pub(crate) warnings: Vec<String>,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The object in the version of the request.
    pub(crate) object: Arc<Value>,
    /// The same as it is stored, if it is stored in this version.
    pub(crate) stored: Option<Arc<Encoded>>,
    /// Whether the write created it.
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}
