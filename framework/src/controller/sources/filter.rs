use crate::{
    cache::EventOrigin,
    controller::{
        predicate::{Change, Predicate, Version},
        state::ControllerState,
    },
    queue::Priority,
    resource::Object,
};

/// Whether a change counts. It counts if there is no predicate, if the predicate does not refuse it, and if the predicate
/// panics.
pub(super) fn passes<C: Object>(
    controller: &ControllerState,
    predicate: Option<&Predicate<C>>,
    change: &Change<'_, Version<'_, C>>,
) -> bool {
    predicate.is_none_or(|predicate| {
        let judged = controller.catch_panic("a predicate", || predicate.judge_versions(change));
        judged.flatten().unwrap_or(true)
    })
}

/// The priority of the keys that an event adds. The changes of a list may be old, and there may be many at once: a change
/// that happens now does not wait behind them.
pub(super) fn priority(origin: EventOrigin) -> Priority {
    match origin {
        EventOrigin::Existing | EventOrigin::List => Priority::Low,
        EventOrigin::Watch => Priority::Normal,
    }
}
