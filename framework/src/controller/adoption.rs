use serde_json::{Value, json};

use super::{
    Context, Error,
    owner_mark::{OWNER_ANNOTATION, OWNER_UID_LABEL, OwnerMark},
    write::told,
};
use crate::{
    client::Patch,
    resource::{ApiResource, CanOwn, Resource, Selector, controller_of, set_controller},
};

/// Taking over what is there, and letting it go: as client-go's controllers do.
impl<K: Resource> Context<K> {
    /// What a controller does that has a selector, with each object it finds: one that the selector means
    /// and nobody controls is [adopted](Self::adopt), one of ours that it means no more is
    /// [released](Self::release). Gives back what is ours then.
    ///
    /// Nothing changes hands while it, or the reconciled object, is being deleted.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt) and [`release`](Self::release); that `object` is gone, or somebody
    /// else's, is none.
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
        let is_meant = selector.matches(labels.unwrap_or(&Default::default()));
        let controller = controller_of(object.metadata());
        let ours = controller.map(|one| Some(&*one.uid) == owner.uid());
        let changed = match (ours, is_meant) {
            (Some(true), true) => {
                self.wanted.note(&ApiResource::of::<C>(), &object.key());
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

    /// Makes the reconciled object the controller of `object`, which nobody controls, and changes
    /// nothing else of it. One that is ours is given back as it is.
    ///
    /// `object` is one that was read: what changed since is a conflict. The server is asked first whether the
    /// reconciled object is still there and stays: a cache that is behind must not give children back
    /// to an owner whose deletion has just orphaned them.
    ///
    /// # Errors
    /// [`Error::OwnedByAnother`], naming whose it is; [`Error::BeingDeleted`], of either;
    /// [`Error::OtherNamespace`]; [`Error::NotRead`]; the server's, a conflict when `object` was changed
    /// meanwhile.
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
        set_controller(&**owner, &mut adopted).map_err(|source| Error::Owner {
            kind: C::KIND.into(),
            source,
        })?;
        self.wanted.note(&ApiResource::of::<C>(), &object.key());
        if adopted.metadata().owner_references == object.metadata().owner_references {
            return Ok(adopted);
        }
        if object.is_deleting() {
            return Err(Error::BeingDeleted {
                verb,
                kind: C::KIND,
                key: object.key(),
            });
        }
        self.check_stays(verb, owner).await?;
        let owners = json!(adopted.metadata().owner_references);
        self.change_hands(verb, object, json!({"ownerReferences": owners}))
            .await
    }

    /// Lets `object` go: the reference to the reconciled object, or its mark on a detached child, is taken
    /// away, and nothing else. What is not ours is given back as it is.
    ///
    /// # Errors
    /// [`Error::NotRead`]; the server's, a conflict when `object` was changed meanwhile.
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
        self.change_hands("release", object, metadata).await
    }

    /// Asks the server whether the reconciled object is there and is not being deleted.
    async fn check_stays(&self, verb: &'static str, owner: &K) -> Result<(), Error> {
        let (kind, key) = (K::KIND, self.key.clone());
        let present = self.api_of::<K>(&key).metadata().get_opt(key.name()).await;
        let present = present.map_err(|error| told(verb, error))?;
        match present.filter(|present| present.metadata.uid.as_deref() == owner.uid()) {
            Some(present) if present.metadata.deletion_timestamp.is_none() => Ok(()),
            Some(_) => Err(Error::BeingDeleted { verb, kind, key }),
            None => Err(Error::Gone { verb, kind, key }),
        }
    }

    async fn change_hands<C: Resource>(
        &self,
        verb: &'static str,
        object: &C,
        mut metadata: Value,
    ) -> Result<C, Error> {
        let (Some(uid), Some(version)) = (object.uid(), object.resource_version()) else {
            return Err(Error::NotRead {
                verb,
                kind: C::KIND,
                key: object.key(),
            });
        };
        metadata["uid"] = uid.into();
        metadata["resourceVersion"] = version.into();
        let patch = Patch::Merge(json!({"metadata": metadata}));
        self.send_patch(verb, &object.key(), &patch).await
    }
}
