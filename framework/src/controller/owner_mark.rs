use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resource::{
    Object, ObjectKey, ObjectMeta, OwnerError, Resource, Scope, owner_reference,
};

/// Label of the children that [`apply_detached`](super::Context::apply_detached) writes: the UID of
/// their owner, so that `kubectl get -l pilothouse.dev/owner-uid=…` lists them.
///
/// It is not `applyset.kubernetes.io/part-of` (KEP-3659): that one means a set only together with
/// labels and a list of kinds on its parent, which would be two more writes to each owner; and
/// it is made of the parent's name, so that a new owner would inherit the children of another one.
pub const OWNER_UID_LABEL: &str = "pilothouse.dev/owner-uid";

/// Annotation of the same children: group, kind, namespace, name and UID of their owner, as JSON.
pub const OWNER_ANNOTATION: &str = "pilothouse.dev/owner";

/// Who owns a detached child, as it is written on the child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct OwnerMark {
    group: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    pub(super) uid: String,
}

impl OwnerMark {
    /// The mark of the children of `owner`.
    pub(super) fn of<K: Resource>(owner: &K) -> Result<Self, OwnerError> {
        let reference = owner_reference(owner)?;
        Ok(Self {
            group: K::GROUP.to_owned(),
            kind: reference.kind,
            namespace: owner.namespace().map(str::to_owned),
            name: reference.name,
            uid: reference.uid,
        })
    }

    /// The mark on an object. One that cannot be read still says that the object is somebody's.
    pub(super) fn on(metadata: &ObjectMeta) -> Option<Self> {
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

    /// Puts it on an object.
    pub(super) fn put(&self, metadata: &mut ObjectMeta) -> Result<(), serde_json::Error> {
        let text = serde_json::to_string(self)?;
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(OWNER_UID_LABEL.to_owned(), self.uid.clone());
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(OWNER_ANNOTATION.to_owned(), text);
        Ok(())
    }

    /// The key of the owner, if it is of kind `K`.
    pub(super) fn key<K: Resource>(&self) -> Option<ObjectKey> {
        let namespaced = self.namespace.is_some() == K::Scope::NAMESPACED;
        (namespaced && self.group == K::GROUP && self.kind == K::KIND && !self.name.is_empty())
            .then(|| ObjectKey::new(self.namespace.as_deref(), &self.name))
    }

    /// [`place`](Self::place) of the object of kind `K` that is named `key`.
    pub(super) fn place_at<K: Resource>(key: &ObjectKey) -> Option<String> {
        let mark = Self {
            group: K::GROUP.to_owned(),
            kind: K::KIND.to_owned(),
            namespace: key.namespace().map(str::to_owned),
            name: key.name().to_owned(),
            uid: String::new(),
        };
        mark.place()
    }

    /// Whether both name one place, where only one object can be at a time.
    pub(super) fn is_at_the_place_of(&self, other: &Self) -> bool {
        let place = self.place();
        place.is_some() && place == other.place()
    }

    /// Group, kind, namespace and name, of which none holds a `|`; `None` if that is not known.
    pub(super) fn place(&self) -> Option<String> {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let known = !self.name.is_empty();
        known.then(|| format!("{}|{}|{namespace}|{}", self.group, self.kind, self.name))
    }
}

/// `Website default/web`, or what is known.
impl fmt::Display for OwnerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return write!(f, "the object with UID {:?}", self.uid);
        }
        let key = ObjectKey::new(self.namespace.as_deref(), &self.name);
        write!(f, "{} {key}", self.kind)
    }
}

/// Whether `child` is a detached one of `owner` and of nobody else.
pub(super) fn is_detached_child<K: Object>(owner: &K, child: &ObjectMeta) -> bool {
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

/// Whether `child` is a detached one of an object that bore the name of `owner` before it, of which the
/// finalizers were removed by force.
pub(super) fn is_left_child<K: Resource>(owner: &K, child: &ObjectMeta) -> bool {
    let owners = child.owner_references.as_deref().unwrap_or_default();
    let (Some(mark), Ok(ours)) = (OwnerMark::on(child), OwnerMark::of(owner)) else {
        return false;
    };
    owners.is_empty() && mark.uid != ours.uid && mark.is_at_the_place_of(&ours)
}

/// Whether `child` is a detached one of the object that bears, or bore, the name `owner`, and of nobody else.
pub(super) fn is_child_at<K: Resource>(owner: &ObjectKey, child: &ObjectMeta) -> bool {
    let owners = child.owner_references.as_deref().unwrap_or_default();
    let labels = child.labels.as_ref();
    let label = labels.and_then(|all| all.get(OWNER_UID_LABEL));
    let mark = OwnerMark::on(child).filter(|mark| Some(&mark.uid) == label);
    owners.is_empty() && mark.is_some_and(|mark| mark.key::<K>().as_ref() == Some(owner))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace},
    };

    use super::*;

    fn owner(uid: &str) -> Deployment {
        let mut owner = Deployment::named("web");
        owner.metadata.namespace = Some("default".into());
        owner.metadata.uid = Some(uid.into());
        owner
    }

    fn child(uid: &str) -> ConfigMap {
        let mut child = ConfigMap::named("page");
        let mark = OwnerMark::of(&owner(uid)).unwrap();
        mark.put(&mut child.metadata).unwrap();
        child
    }

    #[test]
    fn a_mark_leads_back_to_its_owner_and_to_no_other_kind() {
        let mark = OwnerMark::on(&child("1").metadata).unwrap();
        assert_eq!(mark, OwnerMark::of(&owner("1")).unwrap());
        assert_eq!(mark.key::<Deployment>().unwrap().as_str(), "default/web");
        assert_eq!(mark.key::<ConfigMap>(), None);
        assert_eq!(mark.key::<Namespace>(), None);
        assert_eq!(mark.to_string(), "Deployment default/web");
        assert_eq!(OwnerMark::on(&ConfigMap::named("page").metadata), None);
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_somebody_s() {
        let mut child = child("1");
        let annotations = child.metadata.annotations.as_mut().unwrap();
        annotations.insert(OWNER_ANNOTATION.into(), "{".into());
        let mark = OwnerMark::on(&child.metadata).unwrap();
        assert_eq!(mark.key::<Deployment>(), None);
        assert_eq!(mark.to_string(), "the object with UID \"1\"");
        assert!(
            !OwnerMark::of(&owner("1"))
                .unwrap()
                .is_at_the_place_of(&mark)
        );
    }

    #[test]
    fn what_a_former_object_of_the_name_left_is_told_from_what_is_ours() {
        let mut other = owner("1");
        other.metadata.name = Some("zoo".into());
        let mut child = child("1");
        assert!(!is_left_child(&owner("1"), &child.metadata));
        assert!(is_left_child(&owner("2"), &child.metadata));
        assert!(!is_left_child(&other, &child.metadata));
        child.metadata.owner_references = Some(vec![owner_reference(&owner("3")).unwrap()]);
        assert!(!is_left_child(&owner("2"), &child.metadata));
        assert!(!is_left_child(
            &owner("1"),
            &ConfigMap::named("page").metadata
        ));
    }

    #[test]
    fn only_a_child_that_nobody_else_owns_is_ours_to_delete() {
        let mut child = child("1");
        assert!(is_detached_child(&owner("1"), &child.metadata));
        assert!(!is_detached_child(&owner("2"), &child.metadata));
        assert!(!is_detached_child(&Deployment::default(), &child.metadata));
        child.metadata.owner_references = Some(vec![owner_reference(&owner("3")).unwrap()]);
        assert!(!is_detached_child(&owner("1"), &child.metadata));
    }
}
