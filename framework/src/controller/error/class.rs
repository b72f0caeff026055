use std::{borrow::Cow, error::Error as StdError, sync::Arc, time::Duration};

use super::error::Error;
use crate::{
    client,
    resource::{NotReady, ObjectKey, Readiness},
};

/// What an error and its causes say about a failure.
#[derive(Debug, Default)]
pub(super) struct FailureClass {
    /// Whether no retry helps.
    pub(super) terminal: bool,
    /// Whether the call only waits for a change. Then nothing went wrong.
    pub(super) waiting: bool,
    /// Whether it waits for an object that does not decode. The change of that object may lead to no reconcile.
    pub(super) undecodable: bool,
    /// The lower bound of the delay before the retry.
    pub(super) retry_after: Option<Duration>,
    /// Whether another client had changed the object.
    pub(super) conflict: bool,
    /// Whether the reconciled object is gone.
    pub(super) gone: bool,
    /// Kind and key of an object that is being deleted.
    pub(super) deleting: Option<Box<(Cow<'static, str>, ObjectKey)>>,
    pub(super) duration: FailureDuration,
    /// A message of the server that must not be shown, and the text that replaces it.
    pub(super) hidden: Option<Box<(String, String)>>,
}

/// What ends a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FailureDuration {
    /// The error does not tell.
    #[default]
    Unknown,
    /// Time: a conflict, an overloaded server, a timeout.
    Transient,
    /// Time, and no request reaches the API server meanwhile.
    Unreachable,
    /// A change by a person.
    Person,
}

impl FailureClass {
    /// The class of an error. `chain` has the error and its causes.
    pub(super) fn of<'a>(
        chain: impl Iterator<Item = &'a (dyn StdError + 'static)> + Clone,
    ) -> Self {
        let ours = chain.clone().find_map(find::<Error>);
        let gone = matches!(ours, Some(Error::Gone { .. }));
        let deleting = match ours {
            Some(Error::BeingDeleted { kind, key, .. }) => {
                Some(Box::new((kind.clone(), key.clone())))
            }
            _ => None,
        };
        let client = chain.clone().find_map(|one| {
            let ours = find::<Error>(one).and_then(Error::client);
            ours.or(find::<client::Error>(one))
        });
        let refused = matches!(ours, Some(Error::StatusRefused { .. }));
        let undecodable = matches!(ours, Some(Error::Undecodable(_)));
        let not_ready = chain.clone().find_map(find::<NotReady>);
        let has_failed = not_ready.map(|child| matches!(child.readiness, Readiness::Failed(_)));
        let duration = match ours {
            Some(Error::OwnedByAnother { .. } | Error::NotAdopted { .. }) => {
                FailureDuration::Person
            }
            Some(Error::StatusRefused { .. } | Error::NoStatusSubresource { .. }) => {
                FailureDuration::Person
            }
            _ => client.map(FailureDuration::of).unwrap_or_default(),
        };
        Self {
            // Only another version of the program, of a definition or of a child can end this.
            terminal: client.is_some_and(client::Error::is_not_declared)
                || refused
                || has_failed == Some(true),
            waiting: undecodable || has_failed == Some(false),
            undecodable,
            retry_after: client.and_then(client::Error::retry_after),
            conflict: client.is_some_and(client::Error::is_conflict),
            gone,
            deleting,
            duration,
            hidden: client.and_then(hidden),
        }
    }
}

impl FailureDuration {
    fn of(error: &client::Error) -> Self {
        use client::ErrorKind::{Connect, Fenced, Timeout, Transport};
        match error.kind() {
            Connect(_) | Transport(_) | Timeout { .. } | Fenced(_) => Self::Unreachable,
            _ if error.is_forbidden() || error.is_invalid() => Self::Person,
            _ if error.is_transient() || error.is_conflict() => Self::Transient,
            _ => Self::Unknown,
        }
    }
}

/// The error as a `T`. A `T` in a box or an `Arc` is an error with a type of its own.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let boxed = || error.downcast_ref::<Box<T>>().map(|error| &**error);
    let shared = || error.downcast_ref::<Arc<T>>().map(|error| &**error);
    error.downcast_ref::<T>().or_else(boxed).or_else(shared)
}

/// The server's message if it is about a Secret, and a text to show instead: which fields are wrong, without their values.
fn hidden(error: &client::Error) -> Option<Box<(String, String)>> {
    let (target, status) = (error.target(), error.status()?);
    let kind = status.details.as_ref().map(|details| &*details.kind);
    let is_secret = matches!(kind, Some("Secret" | "secrets"))
        || target.starts_with("Secret ")
        || target.starts_with("secrets ");
    if !is_secret || status.message.is_empty() {
        return None;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields = causes.map(|cause| format!(", {} {}", cause.field, cause.reason));
    let fields: String = fields.collect();
    let reason = match &*status.reason {
        "" => "refused",
        reason => reason,
    };
    let instead = format!("{reason}{fields} (a message about a Secret is not shown)");
    Some(Box::new((status.message.clone(), instead)))
}
