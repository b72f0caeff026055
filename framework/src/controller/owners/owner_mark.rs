use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde::{Deserialize, Serialize};

use crate::resource::{ApiResource, Object, ObjectKey, ObjectMeta, OwnerError, reference_to};

/// Label on [detached](crate::controller::Child::detached) children: the UID of their owner. So
/// `kubectl get -l pilothouse.dev/owner-uid=…` lists them.
///
/// The label `applyset.kubernetes.io/part-of` (KEP-3659) does not fit. It needs labels and a list of kinds on the parent,
/// which would be two more writes per owner. And its value is derived from the parent's name, so that a new owner would
/// inherit the children of a former owner of that name.
pub const OWNER_UID_LABEL: &str = "pilothouse.dev/owner-uid";

/// Annotation on [detached](crate::controller::Child::detached) children: group, kind, namespace, name and UID of their
/// owner, as JSON.
pub const OWNER_ANNOTATION: &str = "pilothouse.dev/owner";

/// The owner of a detached child, as it is written on the child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct OwnerMark {
    group: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    pub(crate) uid: String,
}

impl OwnerMark {
    /// The mark of the children of `owner`, which is of the kind `kind`.
    pub(crate) fn of(kind: &ApiResource, owner: &ObjectMeta) -> Result<Self, OwnerError> {
        let reference = reference_to(kind, owner)?;
        Ok(Self {
            group: kind.group.to_string(),
            kind: reference.kind,
            namespace: owner.namespace.clone().filter(|one| !one.is_empty()),
            name: reference.name,
            uid: reference.uid,
        })
    }

    /// The mark on an object. A mark that cannot be read still shows that the object has an owner.
    pub(crate) fn on(metadata: &ObjectMeta) -> Option<Self> {
        let uid = metadata
            .labels
            .as_ref()
            .and_then(|all| all.get(OWNER_UID_LABEL));
        let annotations = metadata.annotations.as_ref();
        let text = annotations.and_then(|all| all.get(OWNER_ANNOTATION));
        let mark = text.and_then(|text| serde_json::from_str::<Self>(text).ok());
        mark.or_else(|| {
            (uid.is_some() || text.is_some()).then(|| Self {
                uid: uid.cloned().unwrap_or_default(),
                ..Self::default()
            })
        })
    }

    /// Writes the mark on an object.
    pub(crate) fn put(&self, metadata: &mut ObjectMeta) -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(self)?;
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(OWNER_UID_LABEL.to_owned(), self.uid.clone());
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(OWNER_ANNOTATION.to_owned(), text);
        Ok(())
    }

    /// The key of the owner. Returns `None` if the owner is not of the kind `kind`, or if no object can have that key.
    pub(crate) fn key(&self, kind: &ApiResource) -> Option<ObjectKey> {
        let namespaced = self.namespace.is_some() == kind.namespaced;
        let is_of_kind = namespaced && self.group == kind.group && self.kind == kind.kind;
        let key = || ObjectKey::of_reference(self.namespace.as_deref(), &self.name);
        is_of_kind.then(key).flatten()
    }

    /// The [`place`](Self::place) of the object of the kind `kind` with that key.
    pub(crate) fn place_at(kind: &ApiResource, key: &ObjectKey) -> Option<String> {
        let mark = Self {
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            namespace: key.namespace().map(str::to_owned),
            name: key.name().to_owned(),
            uid: String::new(),
        };
        mark.place()
    }

    /// Whether both marks name the same place. Only one object can be at a place at a time.
    pub(crate) fn is_at_the_place_of(&self, other: &Self) -> bool {
        let place = self.place();
        place.is_some() && place == other.place()
    }

    /// Group, kind, namespace and name of the owner, joined by `|`, which none of them contains. Returns `None` if the name is
    /// not known.
    pub(crate) fn place(&self) -> Option<String> {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let known = !self.name.is_empty();
        known.then(|| format!("{}|{}|{namespace}|{}", self.group, self.kind, self.name))
    }
}

/// `Website default/web`, or the UID if the name is not known.
impl fmt::Display for OwnerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return write!(f, "the object with UID {:?}", self.uid);
        }
        let key = ObjectKey::new(self.namespace.as_deref(), &self.name);
        write!(f, "{} {key}", self.kind)
    }
}

/// Whether `child` is a detached child of `owner` and has no owner references.
pub(crate) fn is_detached_child<K: Object>(owner: &K, child: &ObjectMeta) -> bool {
    let owned = child
        .owner_references
        .as_ref()
        .is_some_and(|all| !all.is_empty());
    let uid = owner.uid().filter(|uid| !uid.is_empty());
    let label = child
        .labels
        .as_ref()
        .and_then(|all| all.get(OWNER_UID_LABEL));
    let label = label.map(String::as_str);
    let mark = OwnerMark::on(child);
    !owned && label.is_some() && label == uid && mark.is_some_and(|mark| Some(&*mark.uid) == uid)
}

/// Whether `child` is a detached child of a former object with the name of `owner`, whose finalizers were removed by force.
/// The owner is of the kind `kind`.
pub(crate) fn is_left_child(kind: &ApiResource, owner: &ObjectMeta, child: &ObjectMeta) -> bool {
    let owners = child.owner_references.as_deref().unwrap_or_default();
    let (Some(mark), Ok(ours)) = (OwnerMark::on(child), OwnerMark::of(kind, owner)) else {
        return false;
    };
    let labels = child.labels.as_ref();
    let label = labels.and_then(|all| all.get(OWNER_UID_LABEL));
    owners.is_empty()
        && Some(&mark.uid) == label
        && mark.uid != ours.uid
        && mark.is_at_the_place_of(&ours)
}

/// Whether `child` is a detached child of the present or a former object of the kind `kind` with the key `owner`, and has no
/// owner references.
pub(crate) fn is_child_at(kind: &ApiResource, owner: &ObjectKey, child: &ObjectMeta) -> bool {
    let owners = child.owner_references.as_deref().unwrap_or_default();
    let labels = child.labels.as_ref();
    let label = labels.and_then(|all| all.get(OWNER_UID_LABEL));
    let mark = OwnerMark::on(child).filter(|mark| Some(&mark.uid) == label);
    owners.is_empty() && mark.is_some_and(|mark| mark.key(kind).as_ref() == Some(owner))
}

/// Whether `manager` applied the label of the mark that is on an object, according to its managed fields.
///
/// An object that somebody copied from a child has the mark too, but not this entry: the API server writes it.
pub(crate) fn is_marked_by(manager: &str, object: &ObjectMeta) -> bool {
    let label = format!("f:{OWNER_UID_LABEL}");
    let mut applied = applied_by(manager, object).filter_map(|entry| entry.fields_v1.as_ref());
    applied.any(|fields| fields.0["f:metadata"]["f:labels"].get(&label).is_some())
}

/// Whether `manager` applied an annotation that is on an object, according to its managed fields.
pub(crate) fn is_annotated_by(manager: &str, annotation: &str, object: &ObjectMeta) -> bool {
    let annotation = format!("f:{annotation}");
    let mut applied = applied_by(manager, object).filter_map(|entry| entry.fields_v1.as_ref());
    applied.any(|fields| {
        fields.0["f:metadata"]["f:annotations"]
            .get(&annotation)
            .is_some()
    })
}

fn applied_by<'a>(
    manager: &'a str,
    object: &'a ObjectMeta,
) -> impl Iterator<Item = &'a ManagedFieldsEntry> {
    let entries = object.managed_fields.iter().flatten();
    entries.filter(move |entry| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    };

    use super::*;
    use crate::resource::owner_reference;

    fn mark_of(owner: &Deployment) -> OwnerMark {
        OwnerMark::of(&ApiResource::of::<Deployment>(), &owner.metadata).unwrap()
    }

    fn is_left(owner: &Deployment, child: &ObjectMeta) -> bool {
        is_left_child(&ApiResource::of::<Deployment>(), &owner.metadata, child)
    }

    fn owner(uid: &str) -> Deployment {
        let mut owner = Deployment::named("web");
        owner.metadata.namespace = Some("default".into());
        owner.metadata.uid = Some(uid.into());
        owner
    }

    fn child(uid: &str) -> ConfigMap {
        let mut child = ConfigMap::named("page");
        let mark = mark_of(&owner(uid));
        mark.put(&mut child.metadata).unwrap();
        child
    }

    #[test]
    fn a_mark_leads_to_its_owner_and_to_no_other_kind() {
        let mark = OwnerMark::on(&child("1").metadata).unwrap();
        assert_eq!(mark, mark_of(&owner("1")));
        let key = |kind| mark.key(&kind).map(|key| key.to_string());
        assert_eq!(
            key(ApiResource::of::<Deployment>()).as_deref(),
            Some("default/web")
        );
        assert_eq!(key(ApiResource::of::<ConfigMap>()), None);
        assert_eq!(key(ApiResource::of::<Namespace>()), None);
        assert_eq!(mark.to_string(), "Deployment default/web");
        assert_eq!(OwnerMark::on(&ConfigMap::named("page").metadata), None);
    }

    #[test]
    fn a_mark_that_cannot_be_read_still_shows_an_owner() {
        let mut child = child("1");
        let annotations = child.metadata.annotations.as_mut().unwrap();
        annotations.insert(OWNER_ANNOTATION.into(), "{".into());
        let mark = OwnerMark::on(&child.metadata).unwrap();
        assert_eq!(mark.key(&ApiResource::of::<Deployment>()), None);
        assert_eq!(mark.to_string(), "the object with UID \"1\"");
        assert!(!mark_of(&owner("1")).is_at_the_place_of(&mark));
    }

    #[test]
    fn children_of_a_former_object_of_the_name_are_not_ours() {
        let mut other = owner("1");
        other.metadata.name = Some("zoo".into());
        let mut child = child("1");
        assert!(!is_left(&owner("1"), &child.metadata));
        assert!(is_left(&owner("2"), &child.metadata));
        assert!(!is_left(&other, &child.metadata));
        child.metadata.owner_references = Some(vec![owner_reference(&owner("3")).unwrap()]);
        assert!(!is_left(&owner("2"), &child.metadata));
        assert!(!is_left(&owner("1"), &ConfigMap::named("page").metadata));
    }

    #[test]
    fn only_the_managed_fields_of_our_apply_show_that_we_wrote_the_mark() {
        let labels = |label: &str| serde_json::json!({"f:metadata": {"f:labels": {label: {}}}});
        let ours = labels("f:pilothouse.dev/owner-uid");
        for (manager, operation, subresource, fields, expected) in [
            ("copies", "Apply", "", &ours, true),
            ("kubectl", "Apply", "", &ours, false),
            ("copies", "Update", "", &ours, false),
            ("copies", "Apply", "status", &ours, false),
            ("copies", "Apply", "", &labels("f:app"), false),
            ("copies", "Apply", "", &serde_json::json!({}), false),
        ] {
            let mut child = child("1");
            let entry = serde_json::json!([{
                "manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields,
            }]);
            child.metadata.managed_fields = serde_json::from_value(entry).unwrap();
            let found = is_marked_by("copies", &child.metadata);
            assert_eq!(
                found, expected,
                "{manager} {operation} {subresource} {fields}"
            );
        }
        assert!(!is_marked_by("copies", &child("1").metadata));
    }

    #[test]
    fn only_a_child_without_other_owners_is_ours_to_delete() {
        let mut child = child("1");
        assert!(is_detached_child(&owner("1"), &child.metadata));
        assert!(!is_detached_child(&owner("2"), &child.metadata));
        assert!(!is_detached_child(&Deployment::default(), &child.metadata));
        child.metadata.owner_references = Some(vec![owner_reference(&owner("3")).unwrap()]);
        assert!(!is_detached_child(&owner("1"), &child.metadata));
    }
}
