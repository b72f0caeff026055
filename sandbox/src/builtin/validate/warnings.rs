use serde_json::Value;

use super::fields::{at, list};
use crate::registry::ServedKind;

/// The warnings about an object of a built-in kind that is created or replaces `old`.
pub(crate) fn warnings(kind: &ServedKind, object: &Value, old: Option<&Value>) -> Vec<String> {
    const CLASS: &str = "kubernetes.io/ingress.class";
    let warning = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "PersistentVolume") => {
            let policy = at(object, "/spec/persistentVolumeReclaimPolicy");
            (policy == "Recycle").then(|| {
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach \
                 is to use dynamic provisioning."
                    .to_owned()
            })
        }
        ("networking.k8s.io", "Ingress") if old.is_none() => {
            let annotated = at(object, "/metadata/annotations").get(CLASS).is_some();
            let named = !at(object, "/spec/ingressClassName").is_null();
            (annotated && !named).then(|| {
                format!(
                    "annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
                )
            })
        }
        ("storage.k8s.io", "CSIDriver") if old.is_none() => {
            let asks = !list(object, "/spec/tokenRequests").is_empty();
            let says = !at(object, "/spec/serviceAccountTokenInSecrets").is_null();
            (asks && !says).then(|| {
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                 logging of tokens in volume attributes"
                    .to_owned()
            })
        }
        _ => None,
    };
    warning.into_iter().collect()
}
