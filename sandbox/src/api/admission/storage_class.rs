use serde_json::Value;

use super::default_class::default_class;
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

/// Gives a claim that names no class the default one.
pub(super) fn admit(core: &Core, claim: &mut Value) {
    let annotated = !claim["metadata"]["annotations"][OLD_NAME].is_null();
    if annotated || !claim["spec"]["storageClassName"].is_null() {
        return;
    }
    let classes = GroupResource::new("storage.k8s.io", "storageclasses");
    let spec = claim.get_mut("spec").and_then(Value::as_object_mut);
    if let (Some(spec), Some(class)) = (spec, default_class(core, &classes, &DEFAULT)) {
        spec.insert("storageClassName".into(), meta::name(&class).into());
    }
}
