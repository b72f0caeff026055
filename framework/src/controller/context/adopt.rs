use serde_json::{Value, json};

use super::{context::Context, send::with_verb};
use crate::{
    client::Patch,
    controller::{
        error::Error,
        owners::{OWNER_ANNOTATION, OWNER_UID_LABEL, OwnerMark},
        reconcilable::Reconcilable,
    },
    resource::{ApiResource, CanOwn, Resource, Selector, control, controller_of},
};

/// Adoption and release of existing objects, as client-go's controllers do it.
impl<K: Reconcilable> Context<K> {
    /// Decides whether `object` belongs to the reconciled object, by its labels. For controllers that find their children
    /// with a selector, as a ReplicaSet finds its Pods; client-go calls this `ClaimObject`.
    ///
    /// * An object that `selector` matches and that has no controller is [adopted](Self::adopt).
    /// * An object that the reconciled object controls and that `selector` does not match any more is
    ///   [released](Self::release).
    /// * Nothing changes while the object, or the reconciled object, is being deleted.
    ///
    /// Returns the object if it is controlled by the reconciled object afterwards. Returns `None` if it is not, also if it is
    /// gone or has another controller.
    ///
    /// # Errors
    /// The other errors of [`adopt`](Self::adopt) and [`release`](Self::release).
    pub async fn claim<C: Resource>(
        &self,
        object: &C,
        selector: &Selector,
    ) -> Result<Option<C>, Error>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        let owner = self.owner("claim")?;
        let labels = object.metadata().labels.as_ref();
        let is_selected = selector.matches(labels.unwrap_or(&Default::default()));
        let controller = controller_of(object.metadata());
        let ours = controller.map(|one| Some(&*one.uid) == owner.uid());
        let changed = match (ours, is_selected) {
            (Some(true), true) => {
                self.requested.note(&ApiResource::of::<C>(), &object.key());
                return Ok(Some(object.clone()));
            }
            _ if owner.is_deleting() => return Ok(None),
            (Some(true), false) => self.release(object).await.map(|_| None),
            (None, true) if !object.is_deleting() => self.adopt(object).await.map(Some),
            _ => return Ok(None),
        };
        match changed {
            Err(Error::OwnedByAnother { .. }) => Ok(None),
            Err(Error::Client(error)) if error.is_not_found() => Ok(None),
            changed => changed,
        }
    }

    /// Makes the reconciled object the controller of `object`, and changes nothing else. Returns the object as the server
    /// has it. An object that the reconciled object controls already is returned as it is.
    ///
    /// `object` must be an object that was read: if it has changed since, the request is a conflict. First the server is
    /// asked whether the reconciled object still exists and is not being deleted. Otherwise a cache that is behind could
    /// give children back to an owner whose deletion has just orphaned them.
    ///
    /// # Errors
    /// * [`Error::OwnedByAnother`] if another object controls it; the error names the owner.
    /// * [`Error::BeingDeleted`] if `object` or the reconciled object is being deleted.
    /// * [`Error::OtherNamespace`] if it is in another namespace than the reconciled object.
    /// * [`Error::NotRead`] if it has no UID or no resource version.
    /// * [`Error::Gone`] if the reconciled object is gone.
    /// * [`Error::Client`] if a request failed; a conflict if `object` has changed since it was read.
    pub async fn adopt<C: Resource>(&self, object: &C) -> Result<C, Error>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        let verb = "adopt";
        let owner = self.owner(verb)?;
        let resource = ApiResource::of::<C>();
        self.check_namespace(verb, &resource, object)?;
        self.check_owner(verb, &resource, &**owner, object)?;
        let mut adopted = object.clone();
        let controlled = control(self.resource(), owner.metadata(), adopted.metadata_mut());
        controlled.map_err(|source| Error::Owner {
            kind: C::KIND.into(),
            source,
        })?;
        self.requested.note(&ApiResource::of::<C>(), &object.key());
        if adopted.metadata().owner_references == object.metadata().owner_references {
            return Ok(adopted);
        }
        if object.is_deleting() {
            return Err(Error::BeingDeleted {
                verb,
                kind: C::KIND.into(),
                key: object.key(),
            });
        }
        self.check_owner_stays(verb, owner).await?;
        let owners = json!(adopted.metadata().owner_references);
        self.patch_owner(verb, object, json!({"ownerReferences": owners}))
            .await
    }

    /// Removes the owner reference to the reconciled object from `object`, or its mark from a detached child, and changes
    /// nothing else. Returns the object as the server has it. An object with neither is returned as it is.
    ///
    /// # Errors
    /// * [`Error::NotRead`] if the object has no UID or no resource version.
    /// * [`Error::Gone`] if the reconciled object is gone.
    /// * [`Error::Client`] if the request failed; a conflict if `object` has changed since it was read.
    pub async fn release<C: Resource>(&self, object: &C) -> Result<C, Error> {
        let owner = self.owner("release")?;
        let mut metadata = json!({});
        let references = object.metadata().owner_references.as_deref();
        let references = references.unwrap_or_default();
        let others = references
            .iter()
            .filter(|one| Some(&*one.uid) != owner.uid());
        let others: Vec<_> = others.collect();
        if others.len() < references.len() {
            metadata["ownerReferences"] = json!(others);
        }
        let mark = OwnerMark::on(object.metadata());
        if mark.is_some_and(|mark| Some(&*mark.uid) == owner.uid()) {
            metadata["labels"] = json!({OWNER_UID_LABEL: null});
            metadata["annotations"] = json!({OWNER_ANNOTATION: null});
        }
        if metadata == json!({}) {
            return Ok(object.clone());
        }
        self.patch_owner("release", object, metadata).await
    }

    /// Asks the server whether the reconciled object exists and is not being deleted.
    async fn check_owner_stays(&self, verb: &'static str, owner: &K) -> Result<(), Error> {
        let (kind, key) = (self.kind(), self.key.clone());
        let present = self.own_api().metadata().get_opt(key.name()).await;
        let present = present.map_err(|error| with_verb(verb, error))?;
        match present.filter(|present| present.metadata.uid.as_deref() == owner.uid()) {
            Some(present) if present.metadata.deletion_timestamp.is_none() => Ok(()),
            Some(_) => Err(Error::BeingDeleted { verb, kind, key }),
            None => Err(Error::Gone { verb, kind, key }),
        }
    }

    async fn patch_owner<C: Resource>(
        &self,
        verb: &'static str,
        object: &C,
        mut metadata: Value,
    ) -> Result<C, Error> {
        let (Some(uid), Some(version)) = (object.uid(), object.resource_version()) else {
            return Err(Error::NotRead {
                verb,
                kind: C::KIND.into(),
                key: object.key(),
            });
        };
        metadata["uid"] = uid.into();
        metadata["resourceVersion"] = version.into();
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let resource = ApiResource::of::<C>();
        self.send_patch(verb, &resource, &object.key(), &patch)
            .await
    }
}
