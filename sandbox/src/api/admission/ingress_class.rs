use serde_json::Value;

use super::default_class::default_class;
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// The annotation that marks the default class, and the older one that names the class of an Ingress.
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
const OLD_NAME: &str = "kubernetes.io/ingress.class";

/// Gives an Ingress that names no class the default one.
pub(super) fn admit(core: &Core, ingress: &mut Value) {
    let annotated = !ingress["metadata"]["annotations"][OLD_NAME].is_null();
    if annotated || !ingress["spec"]["ingressClassName"].is_null() {
        return;
    }
    let classes = GroupResource::new("networking.k8s.io", "ingressclasses");
    let spec = ingress.get_mut("spec").and_then(Value::as_object_mut);
    if let (Some(spec), Some(class)) = (spec, default_class(core, &classes, &[DEFAULT])) {
        spec.insert("ingressClassName".into(), meta::name(&class).into());
    }
}
