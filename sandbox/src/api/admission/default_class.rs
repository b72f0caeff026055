use std::sync::Arc;

use serde_json::Value;

use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// Returns the class that one of these annotations marks as the default: of several the newest, and of equally old ones the first by name.
pub(super) fn default_class(
    core: &Core,
    classes: &GroupResource,
    annotations: &[&str],
) -> Option<Arc<Value>> {
    let listed = core.store.list(classes, None, None, None)?.ok()?;
    let all = listed.entries.into_iter().map(|entry| entry.object);
    let mut defaults: Vec<_> = all
        .filter(|class| {
            let known = &class["metadata"]["annotations"];
            annotations.iter().any(|name| known[name] == "true")
        })
        .collect();
    // The list is sorted by name, and the sort keeps that order for equal times.
    defaults.sort_by(|one, other| {
        let created = |class| meta::text(class, "creationTimestamp");
        created(other).cmp(created(one))
    });
    defaults.into_iter().next()
}
