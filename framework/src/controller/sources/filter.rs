use super::mapping::run_mapping;
use crate::{
    cache::EventOrigin,
    controller::{
        predicate::{Change, Predicate, Version},
        state::{ControllerState, Shown},
    },
    queue::Priority,
    resource::{ApiResource, Object},
};

/// Whether a change counts. It counts if there is no predicate, if the predicate does not refuse it, and if the predicate
/// panics or fails.
pub(super) fn passes<C: Object>(
    controller: &ControllerState,
    predicate: Option<&Predicate<C>>,
    change: &Change<'_, Version<'_, C>>,
) -> bool {
    predicate.is_none_or(|predicate| {
        let judged = run_mapping(controller, &"a predicate", || {
            let judged = predicate.judge_versions(change, &controller.caches);
            judged.map(Some)
        });
        judged.flatten().unwrap_or(true)
    })
}

/// Whether the predicate leaves an object out: it would drop the creation of the object as it is now.
pub(crate) fn leaves_out<C: Object>(
    controller: &ControllerState,
    predicate: Option<&Predicate<C>>,
    object: &C,
) -> bool {
    let object = &Version::Stored(object);
    let initial = true;
    !passes(controller, predicate, &Change::Created { object, initial })
}

/// The version that a change shows, if it may be the echo of a write: a deletion and a resync are none.
pub(super) fn shown<'a, C: Object>(
    resource: &'a ApiResource,
    change: &Change<'a, Version<'_, C>>,
) -> Option<Shown<'a>> {
    match change {
        Change::Created { object: new, .. } | Change::Updated { new, .. } => Some(Shown {
            resource,
            metadata: new.metadata(),
        }),
        _ => None,
    }
}

/// The priority of the keys that an event adds. The changes of a list may be old, and there may be many at once: a change
/// that happens now does not wait behind them.
pub(super) fn priority(origin: EventOrigin) -> Priority {
    match origin {
        EventOrigin::Existing | EventOrigin::List => Priority::Low,
        EventOrigin::Watch => Priority::Normal,
    }
}
