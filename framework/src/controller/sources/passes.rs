use crate::{
    controller::{Change, Predicate, hub::Hub},
    queue::Priority,
    resource::{Object, Resource},
};

/// Whether a change counts: nobody says no, or the predicate panicked.
pub(super) fn passes<K: Resource, C: Object>(
    hub: &Hub<K>,
    predicate: Option<&Predicate<C>>,
    change: &Change<'_, C>,
) -> bool {
    predicate.is_none_or(|predicate| {
        let judged = hub.guarded("a predicate", || predicate.judge(change));
        judged.flatten().unwrap_or(true)
    })
}

/// How urgent what a change leads to is.
pub(super) fn priority<C: Object>(change: &Change<'_, C>) -> Priority {
    match change.is_old_news() {
        true => Priority::Low,
        false => Priority::Normal,
    }
}
