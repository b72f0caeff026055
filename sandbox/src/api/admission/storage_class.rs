use serde_json::Value;

use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// The annotations that mark the default class, and the older one that names the class of a claim.
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const OLD_NAME: &str = "volume.beta.kubernetes.io/storage-class";

/// The class of a claim or of a volume; empty if it has none.
pub(crate) fn class_of(object: &Value) -> &str {
    let old = object["metadata"]["annotations"][OLD_NAME].as_str();
    let class = old.or_else(|| object["spec"]["storageClassName"].as_str());
    class.unwrap_or_default()
}

/// Gives a claim that names no class the default one: of several the newest.
pub(super) fn admit(core: &Core, claim: &mut Value) {
    let annotated = !claim["metadata"]["annotations"][OLD_NAME].is_null();
    if annotated || !claim["spec"]["storageClassName"].is_null() {
        return;
    }
    let classes = GroupResource::new("storage.k8s.io", "storageclasses");
    let Some(Ok(listed)) = core.store.list(&classes, None, None, None) else {
        return;
    };
    let all = listed.entries.into_iter().map(|entry| entry.object);
    let mut defaults: Vec<_> = all
        .filter(|class| {
            let annotations = &class["metadata"]["annotations"];
            DEFAULT.iter().any(|name| annotations[name] == "true")
        })
        .collect();
    // The list is sorted by name, and the sort keeps that order for equal times.
    defaults.sort_by(|one, other| {
        let created = |class| meta::text(class, "creationTimestamp");
        created(other).cmp(created(one))
    });
    let spec = claim.get_mut("spec").and_then(Value::as_object_mut);
    if let (Some(spec), Some(class)) = (spec, defaults.first()) {
        spec.insert("storageClassName".into(), meta::name(class).into());
    }
}
