use crate::{
    controller::{Predicate, hub::Hub},
    resource::{Object, Resource},
};

/// Whether a change counts: the predicate says so, deletion began, or the predicate panicked.
pub(super) fn passes<K: Resource, C: Object>(
    hub: &Hub<K>,
    predicate: Option<&Predicate<C>>,
    old: &C,
    new: &C,
) -> bool {
    let Some(predicate) = predicate else {
        return true;
    };
    (new.is_deleting() && !old.is_deleting())
        || hub
            .guarded("a predicate", || predicate.holds(old, new))
            .unwrap_or(true)
}
