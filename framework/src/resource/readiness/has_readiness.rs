use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::{readiness::Readiness, rules};
use crate::resource::{Object, ObjectKey};

/// Asks an object whether it is ready, by the rules of the [module](super).
///
/// Every whole object can be asked: of a built-in kind, of your own kinds, and a
/// [`DynamicObject`](crate::resource::DynamicObject). A view or a [`PartialObject`](crate::resource::PartialObject) lacks fields
/// that the rules need, so asking one of them does not compile. The object is written as JSON for each question.
///
/// In a reconcile, [`ready_or_wait`](Self::ready_or_wait) orders children: see there.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::PersistentVolumeClaim, resource::{HasReadiness, Readiness}};
///
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{"status": {"phase": "Pending"}}"#)?;
/// assert!(!claim.is_ready());
/// assert_eq!(claim.readiness(), Readiness::NotReady("its phase is Pending, not Bound".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait HasReadiness: Object + Serialize {
    /// Whether the object is ready, and why not.
    fn readiness(&self) -> Readiness
    where
        Self: Sized,
    {
        ask(self).0
    }

    /// Whether the object is ready.
    fn is_ready(&self) -> bool
    where
        Self: Sized,
    {
        self.readiness().is_ready()
    }

    /// The object if it is ready. Otherwise an error with which `?` ends the reconcile:
    ///
    /// * Not ready: the reconcile waits. This is no failure: no retry, no backoff, no Warning Event, no error in the metrics. The
    ///   condition `Ready` of the reconciled object is `False` with reason `ReconcileWaiting` and the text, and the level `debug` logs it. Nothing is
    ///   pruned. The next reconcile comes when something changes.
    /// * Failed: the reconcile has failed, and is not retried before something changes.
    ///
    /// The change of the object must lead to a reconcile: declare its kind with `owns` or `watches` in `wire`, without a predicate that leaves out changes
    /// of the status. Nothing wakes a reconcile that waits for an object that is only read.
    ///
    /// ```no_run
    /// # use pilothouse::{controller::{Action, Context, Result}, k8s::api::{apps::v1::{Deployment, StatefulSet}, core::v1::ConfigMap}};
    /// use pilothouse::resource::HasReadiness;
    ///
    /// # async fn example(cx: &Context<ConfigMap>, database: StatefulSet, web: Deployment) -> Result {
    /// cx.apply(database).await?.ready_or_wait()?;
    /// cx.apply(web).await?.ready_or_wait()?;
    /// # Ok(Action::wait()) }
    /// ```
    ///
    /// # Errors
    /// [`NotReady`] if the object is not ready or has failed.
    fn ready_or_wait(&self) -> Result<&Self, NotReady>
    where
        Self: Sized,
    {
        match ask(self) {
            (Readiness::Ready, _) => Ok(self),
            (readiness, kind) => Err(NotReady {
                kind,
                key: self.key(),
                readiness,
            }),
        }
    }
}

impl<K: Object + Serialize> HasReadiness for K {}

/// The readiness of an object, and its kind.
fn ask<K: Object + Serialize>(object: &K) -> (Readiness, String) {
    const {
        assert!(
            !K::PARTIAL,
            "readiness needs the whole object, and a view or a `PartialObject` leaves out fields: read the kind with its whole type"
        );
    }
    answer(serde_json::to_value(object))
}

/// Not generic, so that it is compiled once.
fn answer(object: serde_json::Result<Value>) -> (Readiness, String) {
    match object {
        Ok(object) => {
            let kind = object.get("kind").and_then(Value::as_str);
            let kind = kind.unwrap_or("object").to_owned();
            (rules::readiness(&object), kind)
        }
        Err(error) => {
            let reason = format!("it cannot be written as JSON: {error}");
            (Readiness::NotReady(reason), "object".into())
        }
    }
}

/// An object is not ready, or has failed. The error of [`HasReadiness::ready_or_wait`], which says what a reconcile makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// The object's kind.
    pub kind: String,
    /// The object.
    pub key: ObjectKey,
    /// [`Readiness::NotReady`] or [`Readiness::Failed`], with the reason.
    pub readiness: Readiness,
}

/// `Deployment shop/web is not ready: 1 of 3 replicas are ready`.
impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key, .. } = self;
        match &self.readiness {
            Readiness::Failed(reason) => write!(f, "{kind} {key} has failed: {reason}"),
            Readiness::NotReady(reason) => write!(f, "{kind} {key} is not ready: {reason}"),
            // Only a caller that makes the value itself can do this.
            Readiness::Ready => write!(f, "{kind} {key}"),
        }
    }
}

impl std::error::Error for NotReady {}
