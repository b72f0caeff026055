use super::{Context, Error};
use crate::{
    client::{DeleteParams, Patch, PatchParams, PostParams},
    resource::{ApiResource, ObjectKey, Resource, Scope},
};

/// Writes that are not an apply: for what is made once, changed step by step, or deleted.
impl<K: Resource> Context<K> {
    /// Creates `object` as it is written here, and gives it back as the server stored it. An
    /// empty namespace becomes that of the reconciled object. Unlike [`apply`](Self::apply) it sets no
    /// owner; [`set_controller`](crate::resource::set_controller) does.
    ///
    /// # Errors
    /// The server's, such as that there is one of that name.
    pub async fn create<C: Resource>(&self, mut object: C) -> Result<C, Error> {
        if C::Scope::NAMESPACED && object.namespace().is_none() {
            let key = self.beside::<C>("create", object.name())?;
            object.metadata_mut().namespace = key.namespace().map(str::to_owned);
        }
        let key = object.key();
        self.wanted.note::<C>(&key);
        let (api, params) = (self.api_of::<C>(&key), self.posted());
        let send = api.create(&params, &object);
        let created = self
            .write("create", &ApiResource::of::<C>(), &key, send)
            .await?;
        self.wanted.note::<C>(&created.key());
        Ok(created)
    }

    /// Replaces the object by `object`, and gives it back as the server stored it. With the resource
    /// version that a cached object bears, a change of somebody else in between is a conflict.
    ///
    /// # Errors
    /// The server's: [`is_conflict`](crate::client::Error::is_conflict) when the object was changed
    /// meanwhile.
    pub async fn update<C: Resource>(&self, object: &C) -> Result<C, Error> {
        let key = object.key();
        self.wanted.note::<C>(&key);
        let (api, params) = (self.api_of::<C>(&key), self.posted());
        let send = api.replace(key.name(), &params, object);
        self.write("update", &ApiResource::of::<C>(), &key, send)
            .await
    }

    /// Changes the object named `key`, and gives it back as the server stored it.
    ///
    /// # Errors
    /// The server's.
    pub async fn patch<C: Resource>(&self, key: &ObjectKey, patch: &Patch) -> Result<C, Error> {
        self.send_patch("patch", key, patch).await
    }

    pub(super) async fn send_patch<C: Resource>(
        &self,
        verb: &'static str,
        key: &ObjectKey,
        patch: &Patch,
    ) -> Result<C, Error> {
        self.wanted.note::<C>(key);
        let params = PatchParams::default().field_manager(&self.shared.field_manager);
        let api = self.api_of::<C>(key);
        let send = api.patch(key.name(), &params, patch);
        self.write(verb, &ApiResource::of::<C>(), key, send).await
    }

    /// Deletes `object`: this very one, whatever happened to it, not another one that bears its name
    /// meanwhile; its dependents go in the background. That it is gone already is well.
    ///
    /// # Errors
    /// The server's.
    pub async fn delete<C: Resource>(&self, object: &C) -> Result<(), Error> {
        let mut params = DeleteParams::background();
        if let Some(uid) = object.uid() {
            params = params.uid(uid);
        }
        match self.delete_with::<C>(&object.key(), &params).await {
            // Another one has its name.
            Err(error) if super::children::conflicts(&error) => Ok(()),
            ended => ended,
        }
    }

    /// Deletes the object named `key`, with preconditions, propagation and grace period as `params`
    /// say. That it is gone already is well.
    ///
    /// # Errors
    /// The server's: [`is_conflict`](crate::client::Error::is_conflict) when a precondition does not hold.
    pub async fn delete_with<C: Resource>(
        &self,
        key: &ObjectKey,
        params: &DeleteParams,
    ) -> Result<(), Error> {
        // Applied again, it has to be sent again.
        let id = (std::any::TypeId::of::<C>(), key.clone());
        let states = &self.shared.hub.states;
        states.with(&self.key, |state| state.applied.remove(&id));
        self.send_delete::<C>("delete", key, params).await
    }

    pub(super) async fn send_delete<C: Resource>(
        &self,
        verb: &'static str,
        key: &ObjectKey,
        params: &DeleteParams,
    ) -> Result<(), Error> {
        let api = self.api_of::<C>(key);
        let send = api.delete(key.name(), params);
        let ended = self
            .write_deletion(verb, &ApiResource::of::<C>(), key, send)
            .await;
        match ended {
            Err(Error::Client(error)) if error.is_not_found() => Ok(()),
            ended => ended.map(drop),
        }
    }

    fn posted(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.shared.field_manager.clone()),
            ..PostParams::default()
        }
    }
}
