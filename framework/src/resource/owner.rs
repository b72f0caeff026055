use std::borrow::Cow;

use super::{ApiResource, CanOwn, ObjectKey, ObjectMeta, OwnerReference, Resource};

/// Why an owner reference could not be set.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnerError {
    /// The owner has no UID, because it does not come from the API server.
    #[error("{kind} {key} has no UID: read the owner from the API server before you refer to it")]
    OwnerNotCreated {
        /// Kind of the owner.
        kind: Cow<'static, str>,
        /// Namespace and name of the owner.
        key: ObjectKey,
    },
    /// Another object is the child's controller already.
    #[error(
        "{child} is already controlled by {kind} {name}: an object can have only one controller"
    )]
    AlreadyControlled {
        /// Namespace and name of the child.
        child: ObjectKey,
        /// Kind of the present controller.
        kind: String,
        /// Name of the present controller.
        name: String,
    },
}

/// A reference that makes `owner` one of several owners. Only the garbage collector uses it.
///
/// # Errors
///
/// Returns [`OwnerError::OwnerNotCreated`] if `owner` has no UID.
pub fn owner_reference<K: Resource>(owner: &K) -> Result<OwnerReference, OwnerError> {
    reference_to(&ApiResource::of::<K>(), owner.metadata())
}

/// As [`owner_reference`], for an owner of any kind.
pub(crate) fn reference_to(
    resource: &ApiResource,
    owner: &ObjectMeta,
) -> Result<OwnerReference, OwnerError> {
    let name = owner.name.as_deref().unwrap_or_default();
    let uid = owner.uid.as_deref().filter(|uid| !uid.is_empty());
    let uid = uid.ok_or_else(|| OwnerError::OwnerNotCreated {
        kind: resource.kind.clone(),
        key: ObjectKey::new(owner.namespace.as_deref(), name),
    })?;
    Ok(OwnerReference {
        api_version: resource.api_version(),
        kind: resource.kind.to_string(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: None,
        block_owner_deletion: None,
    })
}

/// A reference that makes `owner` the only controller of a child, as client-go's `NewControllerRef` does.
///
/// The reference also blocks a foreground deletion of the owner until the child is gone.
///
/// # Errors
///
/// Returns [`OwnerError::OwnerNotCreated`] if `owner` has no UID.
pub fn controller_reference<K: Resource>(owner: &K) -> Result<OwnerReference, OwnerError> {
    Ok(controlling(owner_reference(owner)?))
}

fn controlling(reference: OwnerReference) -> OwnerReference {
    OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..reference
    }
}

/// The owner reference to an object's controller; `None` if it has no controller.
pub fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata
        .owner_references
        .as_ref()?
        .iter()
        .find(|owner| owner.controller == Some(true))
}

/// Makes `owner` the controller of `child`. A second call changes nothing.
///
/// # Errors
///
/// Returns [`OwnerError::OwnerNotCreated`] if `owner` has no UID, and [`OwnerError::AlreadyControlled`] if another object
/// is the child's controller.
pub fn set_controller<K, C>(owner: &K, child: &mut C) -> Result<(), OwnerError>
where
    K: Resource,
    C: Resource,
    K::Scope: CanOwn<C::Scope>,
{
    control(
        &ApiResource::of::<K>(),
        owner.metadata(),
        child.metadata_mut(),
    )
}

/// As [`set_controller`], for an owner and a child of any kind. The caller checks the scopes.
pub(crate) fn control(
    resource: &ApiResource,
    owner: &ObjectMeta,
    child: &mut ObjectMeta,
) -> Result<(), OwnerError> {
    let reference = controlling(reference_to(resource, owner)?);
    if let Some(present) = controller_of(child)
        && present.uid != reference.uid
    {
        let name = child.name.as_deref().unwrap_or_default();
        return Err(OwnerError::AlreadyControlled {
            child: ObjectKey::new(child.namespace.as_deref(), name),
            kind: present.kind.clone(),
            name: present.name.clone(),
        });
    }
    let owners = child.owner_references.get_or_insert_default();
    match owners
        .iter_mut()
        .find(|present| present.uid == reference.uid)
    {
        Some(present) => *present = reference,
        None => owners.push(reference),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};

    fn owner(uid: Option<&str>) -> Deployment {
        let mut owner = Deployment::default();
        owner.metadata.name = Some("web".into());
        owner.metadata.namespace = Some("default".into());
        owner.metadata.uid = uid.map(str::to_owned);
        owner
    }

    #[test]
    fn setting_the_controller_twice_leaves_one_reference() {
        let mut child = ConfigMap::default();
        set_controller(&owner(Some("1")), &mut child).unwrap();
        set_controller(&owner(Some("1")), &mut child).unwrap();
        assert_eq!(child.metadata.owner_references.as_ref().unwrap().len(), 1);
        let controller = controller_of(&child.metadata).unwrap();
        assert_eq!(
            (controller.api_version.as_str(), controller.kind.as_str()),
            ("apps/v1", "Deployment")
        );
    }

    #[test]
    fn an_owner_that_is_no_controller_becomes_the_controller() {
        let mut child = ConfigMap::default();
        let plain = owner_reference(&owner(Some("1"))).unwrap();
        child.metadata.owner_references = Some(vec![plain]);
        set_controller(&owner(Some("1")), &mut child).unwrap();
        let owners = child.metadata.owner_references.unwrap();
        let controllers: Vec<_> = owners.iter().map(|owner| owner.controller).collect();
        assert_eq!(controllers, [Some(true)]);
    }

    #[test]
    fn a_second_controller_is_an_error() {
        let mut child = ConfigMap::default();
        set_controller(&owner(Some("1")), &mut child).unwrap();
        let error = set_controller(&owner(Some("2")), &mut child).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("already controlled by Deployment web"),
            "{error}"
        );
    }

    #[test]
    fn an_owner_without_uid_is_an_error() {
        let error = set_controller(&owner(None), &mut ConfigMap::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("Deployment default/web has no UID"),
            "{error}"
        );
    }
}
