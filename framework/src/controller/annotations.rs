//! Annotations on reconciled objects, by which people control a controller.
//!
//! ```text
//! kubectl annotate website/shop pilothouse.dev/paused=true
//! kubectl annotate website/shop pilothouse.dev/paused-
//! kubectl annotate website/shop --overwrite pilothouse.dev/reconcile-now="$(date)"
//! ```

use crate::{controller::cause::Cause, resource::ObjectMeta};

/// Pauses an object: while it has this annotation, with any value but `false`, it is neither reconciled nor cleaned up. A
/// running reconcile is finished. When the annotation is removed the object is reconciled at once, and predicates do not
/// count. If the object itself is deleted, `deleted` is called as usual.
///
/// The metric `pilothouse_controller_paused_objects` shows how many objects are paused. The log shows which.
pub const PAUSED: &str = "pilothouse.dev/paused";

/// Reconciles an object at once, whenever the value changes: before other objects, without waiting for a backoff, and
/// predicates do not count. The value has no meaning; the current time is a good value. It has no effect while the object is
/// [paused](PAUSED).
pub const RECONCILE_NOW: &str = "pilothouse.dev/reconcile-now";

/// Whether the object is paused.
pub(crate) fn is_paused(object: &ObjectMeta) -> bool {
    value(object, PAUSED).is_some_and(|value| value != "false")
}

/// The request of a person that the change from `old` to `new` shows. Predicates do not see such a change.
pub(crate) fn requested(old: &ObjectMeta, new: &ObjectMeta) -> Option<Cause> {
    if old.annotations.is_none() && new.annotations.is_none() {
        return None;
    }
    match (is_paused(old), is_paused(new)) {
        (false, true) => return Some(Cause::PausedObjects),
        (true, false) => return Some(Cause::Resumed),
        _ => {}
    }
    let now = value(new, RECONCILE_NOW);
    (now.is_some() && now != value(old, RECONCILE_NOW)).then_some(Cause::ReconcileNow)
}

fn value<'a>(object: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    let annotations = object.annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}
