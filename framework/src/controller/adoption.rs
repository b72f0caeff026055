use serde_json::{Value, json};

use super::{
    Context, Error,
    owner_mark::{OWNER_ANNOTATION, OWNER_UID_LABEL, is_detached_child},
};
use crate::{
    client::Patch,
    resource::{CanOwn, Resource, set_controller},
};

/// Taking over what is there, and letting it go.
impl<K: Resource> Context<K> {
    /// Makes the reconciled object the controller of `object`, which nobody controls, and changes
    /// nothing else of it. One that is ours is given back as it is.
    ///
    /// # Errors
    /// [`Error::OwnedByAnother`], naming whose it is; [`Error::OtherNamespace`]; the server's, a conflict
    /// when `object` was changed meanwhile.
    pub async fn adopt<C: Resource>(&self, object: &C) -> Result<C, Error>
    where
        K::Scope: CanOwn<C::Scope>,
    {
        let owner = self.owner("adopt")?;
        self.check_namespace("adopt", object)?;
        self.check_owner("adopt", &**owner, object)?;
        let mut adopted = object.clone();
        set_controller(&**owner, &mut adopted).map_err(|source| Error::Owner {
            kind: C::KIND,
            source,
        })?;
        if adopted.metadata().owner_references == object.metadata().owner_references {
            return Ok(adopted);
        }
        let owners = json!(adopted.metadata().owner_references);
        self.change_hands(object, json!({"ownerReferences": owners}))
            .await
    }

    /// Lets `object` go: the reference to the reconciled object, or its mark on a detached child, is taken
    /// away, and nothing else. What is not ours is given back as it is.
    ///
    /// # Errors
    /// The server's, a conflict when `object` was changed meanwhile.
    pub async fn release<C: Resource>(&self, object: &C) -> Result<C, Error> {
        let owner = self.owner("release")?;
        let mut metadata = json!({});
        let references = object
            .metadata()
            .owner_references
            .as_deref()
            .unwrap_or_default();
        let others = references
            .iter()
            .filter(|one| Some(&*one.uid) != owner.uid());
        let others: Vec<_> = others.collect();
        if others.len() < references.len() {
            metadata["ownerReferences"] = json!(others);
        }
        if is_detached_child(&**owner, object.metadata()) {
            metadata["labels"] = json!({OWNER_UID_LABEL: null});
            metadata["annotations"] = json!({OWNER_ANNOTATION: null});
        }
        if metadata == json!({}) {
            return Ok(object.clone());
        }
        self.change_hands(object, metadata).await
    }

    async fn change_hands<C: Resource>(&self, object: &C, mut metadata: Value) -> Result<C, Error> {
        metadata["uid"] = json!(object.uid());
        metadata["resourceVersion"] = json!(object.resource_version());
        let patch = Patch::Merge(json!({"metadata": metadata}));
        self.patch(&object.key(), &patch).await
    }
}
