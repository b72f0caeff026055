use crate::{
    cache::Lister,
    resource::{ObjectKey, OwnerReference, Resource, Scope},
};

/// Which references of a child lead to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum References {
    /// Only the one with `controller: true`.
    Controller,
    /// All of them.
    Every,
}

/// The objects of kind `K` that own a child in `namespace` with these references.
///
/// Group and kind have to match; the version does not matter, since an object has one identity in
/// all of them. A cluster-scoped owner's key has no namespace, whatever the child's.
pub(super) fn owners<'a, K: Resource>(
    references: &'a [OwnerReference],
    namespace: Option<&'a str>,
    which: References,
) -> impl Iterator<Item = (ObjectKey, &'a str)> {
    references
        .iter()
        .filter(move |owner| {
            let group = match owner.api_version.rsplit_once('/') {
                Some((group, _)) => group,
                None => "",
            };
            let counts = which == References::Every || owner.controller == Some(true);
            counts && group == K::GROUP && owner.kind == K::KIND
        })
        .map(move |owner| {
            let namespace = namespace.filter(|_| K::Scope::NAMESPACED);
            (ObjectKey::new(namespace, &owner.name), owner.uid.as_str())
        })
}

/// Whether the cache knows that the name is borne by another object than the one with `uid`.
///
/// A former owner's child is none of its successor's business while it exists. If the cache is
/// older than the reference, the owner's own event is still to come.
pub(super) fn is_of_another<K: Resource>(owners: &Lister<K>, key: &ObjectKey, uid: &str) -> bool {
    match owners.get(key) {
        Ok(Some(owner)) => owner.uid().is_some_and(|present| present != uid),
        Ok(None) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};

    fn reference(api_version: &str, kind: &str, controller: Option<bool>) -> OwnerReference {
        OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: "web".into(),
            uid: "1".into(),
            controller,
            block_owner_deletion: None,
        }
    }

    fn found<K: Resource>(reference: OwnerReference, which: References) -> Vec<String> {
        owners::<K>(&[reference], Some("default"), which)
            .map(|(key, _)| key.to_string())
            .collect()
    }

    #[test]
    fn an_owner_is_found_by_group_and_kind_whatever_its_version() {
        let controller = References::Controller;
        let of =
            |version, kind| found::<Deployment>(reference(version, kind, Some(true)), controller);
        assert_eq!(of("apps/v1", "Deployment"), ["default/web"]);
        assert_eq!(of("apps/v1beta2", "Deployment"), ["default/web"]);
        assert!(of("other.dev/v1", "Deployment").is_empty());
        assert!(of("v1", "Deployment").is_empty());
        assert!(of("apps/v1", "ReplicaSet").is_empty());
    }

    #[test]
    fn a_cluster_scoped_owner_has_one_key_for_children_in_all_namespaces() {
        let owner = reference("v1", "Namespace", Some(true));
        assert_eq!(found::<Namespace>(owner, References::Controller), ["web"]);
    }

    #[test]
    fn other_references_than_the_controller_s_count_only_when_asked_for() {
        for controller in [None, Some(false)] {
            let owner = || reference("apps/v1", "Deployment", controller);
            assert!(found::<Deployment>(owner(), References::Controller).is_empty());
            assert_eq!(
                found::<Deployment>(owner(), References::Every),
                ["default/web"]
            );
        }
    }
}
