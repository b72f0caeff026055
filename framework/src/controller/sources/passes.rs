use crate::{
    cache::Origin,
    controller::{Change, Predicate, hub::Hub},
    queue::Priority,
    resource::Object,
};

/// Whether a change counts: nobody says no, or the predicate panicked.
pub(super) fn passes<C: Object>(
    hub: &Hub,
    predicate: Option<&Predicate<C>>,
    change: &Change<'_, C>,
) -> bool {
    predicate.is_none_or(|predicate| {
        let judged = hub.guarded("a predicate", || predicate.judge(change));
        judged.flatten().unwrap_or(true)
    })
}

/// How urgent what an event leads to is. What a list brings may have happened long ago and be much at once;
/// whoever changes something now does not wait behind it.
pub(super) fn priority(origin: Origin) -> Priority {
    match origin {
        Origin::Present | Origin::List => Priority::Low,
        Origin::Watch => Priority::Normal,
    }
}
