use serde::{Serialize, de::DeserializeOwned};

use super::{
    Context, Error,
    applied::{Applied, child_id},
};
use crate::{
    client::{DeleteParams, Patch, PatchParams, PostParams},
    resource::{ApiResource, Object, ObjectKey, Resource},
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
        let resource = ApiResource::of::<C>();
        if resource.namespaced && object.namespace().is_none() {
            let key = self.beside("create", &resource, object.name())?;
            object.metadata_mut().namespace = key.namespace().map(str::to_owned);
        }
        let key = object.key();
        self.wanted.note(&resource, &key);
        let (api, params) = (self.api_of::<C>(&key), self.posted());
        let send = api.create(&params, &object);
        let created = self.write("create", &resource, &key, send).await?;
        self.wanted.note(&resource, &created.key());
        Ok(created)
    }

    /// Replaces the object by `object`, and gives it back as the server stored it. With the resource
    /// version that a cached object bears, a change of somebody else in between is a conflict.
    ///
    /// # Errors
    /// The server's: [`is_conflict`](crate::client::Error::is_conflict) when the object was changed
    /// meanwhile.
    pub async fn update<C: Resource>(&self, object: &C) -> Result<C, Error> {
        let (resource, key) = (ApiResource::of::<C>(), object.key());
        self.wanted.note(&resource, &key);
        let (api, params) = (self.api_of::<C>(&key), self.posted());
        let send = api.replace(key.name(), &params, object);
        self.write("update", &resource, &key, send).await
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
        let resource = ApiResource::of::<C>();
        self.wanted.note(&resource, key);
        let params = PatchParams::default().field_manager(&self.shared.field_manager);
        let api = self.api_of::<C>(key);
        let send = api.patch(key.name(), &params, patch);
        self.write(verb, &resource, key, send).await
    }

    /// Deletes `object`: this very one, whatever happened to it, not another one that bears its name
    /// meanwhile; its dependents go in the background. That it is gone already is well.
    ///
    /// # Errors
    /// The server's.
    pub async fn delete<C: Resource>(&self, object: &C) -> Result<(), Error> {
        self.delete_as(&ApiResource::of::<C>(), object).await
    }

    /// As [`delete`](Self::delete), of a kind known only at run time.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::apps::v1::Deployment};
    /// use pilothouse::resource::{ApiResource, DynamicObject};
    ///
    /// # async fn example(cx: &Context<Deployment>, widgets: &ApiResource) -> Result<(), Error> {
    /// // With `.owns_of::<DynamicObject>(widgets)` in `wire`, and
    /// // `.access(AccessRule::of_resource(&widgets, ["delete"]))`.
    /// if let Some(widget) = cx.get_of::<DynamicObject>(widgets, "a")? {
    ///     cx.delete_of(widgets, &*widget).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The server's.
    pub async fn delete_of<C>(&self, resource: &ApiResource, object: &C) -> Result<(), Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.delete_as(resource, object).await
    }

    async fn delete_as<C>(&self, resource: &ApiResource, object: &C) -> Result<(), Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        let mut params = DeleteParams::background();
        if let Some(uid) = object.uid() {
            params = params.uid(uid);
        }
        let key = object.key();
        self.forget_applied::<C>(resource, &key);
        match self
            .send_delete::<C>("delete", resource, &key, &params)
            .await
        {
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
        let resource = ApiResource::of::<C>();
        self.forget_applied::<C>(&resource, key);
        self.send_delete::<C>("delete", &resource, key, params)
            .await
    }

    /// Applied again, it has to be sent again, though the cache may have it still as it was.
    fn forget_applied<C: Object>(&self, resource: &ApiResource, key: &ObjectKey) {
        let id = child_id::<C>(resource, key);
        let deleted = Applied {
            written: None,
            answer: None,
            run: self.run,
        };
        let states = &self.shared.hub.states;
        states.with(&self.key, |state| state.applied.insert(id, deleted));
    }

    pub(super) async fn send_delete<C>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        params: &DeleteParams,
    ) -> Result<(), Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        let api = self.api_in::<C>(resource, key);
        let send = api.delete(key.name(), params);
        let ended = self.write_deletion(verb, resource, key, send).await;
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
