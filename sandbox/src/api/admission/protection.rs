use serde_json::Value;

use crate::meta;
use crate::registry::ServedKind;

/// The kinds whose objects stay as long as they are used: group, plural name and finalizer.
pub(crate) const PROTECTED: [(&str, &str, &str); 3] = [
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    (
        "storage.k8s.io",
        "volumeattributesclasses",
        "kubernetes.io/vac-protection",
    ),
];

/// Gives a new object of such a kind its finalizer.
pub(super) fn admit(kind: &ServedKind, object: &mut Value) {
    let is_kind =
        |(group, plural, _): &&(&str, &str, &str)| kind.group == *group && kind.plural == *plural;
    let Some((_, _, finalizer)) = PROTECTED.iter().find(is_kind) else {
        return;
    };
    let own = meta::finalizers(object).into_iter();
    let mut all: Vec<String> = own.map(String::from).collect();
    if !all.iter().any(|known| known == finalizer) {
        all.push((*finalizer).into());
    }
    meta::set_finalizers(object, all);
}
