use crate::{
    cache::Lister,
    resource::{ApiResource, Object, ObjectKey, OwnerReference},
};

/// Which references of a child lead to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum References {
    /// Only the reference with `controller: true`.
    Controller,
    /// All references.
    Every,
}

/// The keys and UIDs of the objects of the kind `kind` that own a child in `namespace` with these references.
///
/// Group and kind have to match. The version does not matter, because an object is the same in all versions. The key of a
/// cluster-scoped owner has no namespace, even if the child has one. A reference to a name that no object can have leads to
/// no key: whoever may write the child chose it.
pub(crate) fn owners<'a>(
    kind: &'a ApiResource,
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
            counts && group == kind.group && owner.kind == kind.kind
        })
        .filter_map(move |owner| {
            let namespace = namespace.filter(|_| kind.namespaced);
            let key = ObjectKey::of_reference(namespace, &owner.name)?;
            Some((key, owner.uid.as_str()))
        })
}

/// Whether the cache shows that the object with that key is not the one with `uid`.
///
/// A child of a former owner does not concern the new owner of that name, as long as the child exists. If the cache is older
/// than the reference, the event of the owner is still to come.
pub(crate) fn is_of_another<K: Object>(owners: &Lister<K>, key: &ObjectKey, uid: &str) -> bool {
    // The owner need not be decoded for this.
    let owners = owners.snapshot();
    let owner = owners.entry(key);
    let owner = owner.filter(|owner| owner.undecodable().is_none());
    let present = owner.and_then(|owner| owner.uid());
    present.is_some_and(|present| present != uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Resource;
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
        owners(
            &ApiResource::of::<K>(),
            &[reference],
            Some("default"),
            which,
        )
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
    fn references_of_other_owners_count_only_with_every() {
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
