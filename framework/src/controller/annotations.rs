//! Annotations by which people talk to a controller through the objects it reconciles.
//!
//! ```text
//! kubectl annotate website/shop pilothouse.dev/paused=true
//! kubectl annotate website/shop pilothouse.dev/paused-
//! kubectl annotate website/shop --overwrite pilothouse.dev/reconcile-now="$(date)"
//! ```

use crate::resource::Object;

use super::causes::Cause;

/// While an object bears it, with any value but `false`, nothing is done for the object: no
/// `reconcile`, no cleanup when it is being deleted. A reconcile that runs is finished.
/// When the annotation goes the object is reconciled at once, whatever the predicates say. If the
/// object itself goes, `deleted` is called as ever.
///
/// `pilothouse_controller_paused_objects` tells how many there are, and the log which.
pub const PAUSED: &str = "pilothouse.dev/paused";

/// Whenever its value changes the object is reconciled at once: before others, without waiting for
/// a backoff to pass, and whatever the predicates say. The value has no meaning; a time is a good
/// one. Not while the object is [paused](PAUSED).
pub const RECONCILE_NOW: &str = "pilothouse.dev/reconcile-now";

/// Whether nothing is to be done for `object`.
pub(super) fn is_paused(object: &impl Object) -> bool {
    value(object, PAUSED).is_some_and(|value| value != "false")
}

/// What the change from `old` to `new` asks of the controller, past predicates.
pub(super) fn asked<K: Object>(old: &K, new: &K) -> Option<Cause> {
    let annotations = |object: &K| object.metadata().annotations.is_some();
    if !annotations(old) && !annotations(new) {
        return None;
    }
    match (is_paused(old), is_paused(new)) {
        (false, true) => return Some(Cause::Paused),
        (true, false) => return Some(Cause::Resumed),
        _ => {}
    }
    let now = value(new, RECONCILE_NOW);
    (now.is_some() && now != value(old, RECONCILE_NOW)).then_some(Cause::ReconcileNow)
}

fn value<'a>(object: &'a impl Object, name: &str) -> Option<&'a str> {
    let annotations = object.metadata().annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}
