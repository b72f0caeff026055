//! The built-in kinds whose objects are stored in another version than the one of the path.
//!
//! | file | what it converts |
//! | --- | --- |
//! | `autoscaler.rs` | HorizontalPodAutoscalers of version 1, which are stored in version 2 |
//! | `event.rs` | Events, which core/v1 and events.k8s.io/v1 share |

mod autoscaler;
mod event;

use serde_json::Value;

pub(crate) use autoscaler::{autoscaler_from_stored, autoscaler_to_stored};
pub(crate) use event::event_to_core;

/// How a kind is stored as another kind.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// Group, version and plural name of the served kind.
    served: [&'static str; 3],
    /// Group and plural name under which the objects are stored.
    pub(crate) storage: [&'static str; 2],
    pub(crate) to_stored: fn(&Value) -> Value,
    pub(crate) from_stored: fn(&Value) -> Value,
}

static CONVERSIONS: [Conversion; 2] = [
    Conversion {
        served: ["autoscaling", "v1", "horizontalpodautoscalers"],
        storage: ["autoscaling", "horizontalpodautoscalers"],
        to_stored: autoscaler_to_stored,
        from_stored: autoscaler_from_stored,
    },
    Conversion {
        served: ["events.k8s.io", "v1", "events"],
        storage: ["", "events"],
        to_stored: event_to_core,
        from_stored: event::event_from_core,
    },
];

/// How the objects of a kind are stored. Returns `None` if they are stored as they are.
pub(crate) fn shared_storage(
    group: &str,
    version: &str,
    plural: &str,
) -> Option<&'static Conversion> {
    CONVERSIONS
        .iter()
        .find(|conversion| conversion.served == [group, version, plural])
}
