use serde::{Serialize, de::DeserializeOwned};

use super::context::Context;
use crate::{
    client::{DeleteParams, Patch, PatchParams, PostParams},
    controller::{
        error::Error,
        reconcilable::Reconcilable,
        state::{Applied, child_id},
    },
    resource::{ApiResource, Object, ObjectKey, Resource},
};

/// Writes other than apply: for objects that are created once, changed step by step, or deleted.
impl<K: Reconcilable> Context<K> {
    /// Creates `object`. Returns it as the server stored it. An empty namespace becomes the namespace of the reconciled
    /// object. Unlike [`apply`](Self::apply) this sets no owner; [`set_controller`](crate::resource::set_controller) does.
    ///
    /// # Errors
    /// [`Error::NoNamespace`] if the object needs a namespace and the reconciled object has none. [`Error::Client`] if the
    /// request failed, for example because an object of that name exists.
    pub async fn create<C: Resource>(&self, object: C) -> Result<C, Error> {
        self.create_of(&ApiResource::of::<C>(), object).await
    }

    /// As [`create`](Self::create), for a kind that is known only at run time.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn create_of<C>(&self, resource: &ApiResource, mut object: C) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        object.fill_types(resource);
        let key = self.key_of("create", resource, &object)?;
        object.metadata_mut().namespace = key.namespace().map(str::to_owned);
        self.requested.note(resource, &key);
        let (api, params) = (self.api_in::<C>(resource, &key), self.post_params());
        let name = Some(key.name()).filter(|name| !name.is_empty());
        let call = api.call("create", name, None);
        let send = api.post_with_answer(call, &params, &object);
        let (created, _): (C, _) = self.write("create", resource, &key, send).await?;
        self.requested.note(resource, &created.key());
        Ok(created)
    }

    /// Replaces the object on the server by `object`. Returns it as the server stored it. If `object` has the resource version
    /// of a cached object, a change by another client in between is a conflict. An empty namespace stands for the namespace of
    /// the reconciled object.
    ///
    /// # Errors
    /// [`Error::NoNamespace`] if the object needs a namespace and the reconciled object has none. [`Error::Client`] if the request failed; [`is_conflict`](crate::client::Error::is_conflict) if the object was changed
    /// in between.
    pub async fn update<C: Resource>(&self, object: &C) -> Result<C, Error> {
        self.update_of(&ApiResource::of::<C>(), object).await
    }

    /// As [`update`](Self::update), for a kind that is known only at run time.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn update_of<C>(&self, resource: &ApiResource, object: &C) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        let key = self.key_of("update", resource, object)?;
        self.requested.note(resource, &key);
        let (api, params) = (self.api_in::<C>(resource, &key), self.post_params());
        let call = api.call("update", Some(key.name()), None);
        let send = api.post_with_answer(call, &params, object);
        let written = self.write("update", resource, &key, send).await;
        written.map(|(object, _)| object)
    }

    /// Patches the object with that key. Returns it as the server stored it.
    ///
    /// # Errors
    /// [`Error::Client`] if the request failed.
    pub async fn patch<C: Resource>(&self, key: &ObjectKey, patch: &Patch) -> Result<C, Error> {
        self.patch_of(&ApiResource::of::<C>(), key, patch).await
    }

    /// As [`patch`](Self::patch), for a kind that is known only at run time. The answer is read as `C`.
    ///
    /// ```
    /// # use pilothouse::{client::Patch, controller::{Context, Result}};
    /// use pilothouse::resource::DynamicObject;
    /// use serde_json::json;
    ///
    /// # async fn example(cx: &Context<DynamicObject>) -> Result<()> {
    /// // With `.access(AccessRule::of_resource(&controller.resource(), ["patch"]))` in `wire`.
    /// let seen = Patch::Merge(json!({"metadata": {"annotations": {"example.com/seen": "yes"}}}));
    /// cx.patch_of::<DynamicObject>(cx.resource(), cx.key(), &seen).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Client`] if the request failed.
    pub async fn patch_of<C>(
        &self,
        resource: &ApiResource,
        key: &ObjectKey,
        patch: &Patch,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.send_patch("patch", resource, key, patch).await
    }

    pub(super) async fn send_patch<C>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        patch: &Patch,
    ) -> Result<C, Error>
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.requested.note(resource, key);
        let params = PatchParams::default().field_manager(&self.shared.field_manager);
        let api = self.api_in::<C>(resource, key);
        let send = api.patch_with_answer(api.call("patch", Some(key.name()), None), &params, patch);
        let written = self.write(verb, resource, key, send).await;
        written.map(|(object, _)| object)
    }

    /// Deletes `object`, even if it has changed since it was read. Another object that has its name meanwhile is not deleted:
    /// the UID is a precondition. The garbage collector deletes the dependents in the background. If the object is gone
    /// already, this succeeds. An empty namespace stands for the namespace of the reconciled object.
    ///
    /// # Errors
    /// [`Error::NoNamespace`] if the object needs a namespace and the reconciled object has none. [`Error::Client`] if the
    /// request failed.
    pub async fn delete<C: Resource>(&self, object: &C) -> Result<(), Error> {
        self.delete_as(&ApiResource::of::<C>(), object).await
    }

    /// As [`delete`](Self::delete), for a kind that is known only at run time.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::apps::v1::Deployment};
    /// use pilothouse::resource::{ApiResource, DynamicObject};
    ///
    /// # async fn example(cx: &Context<Deployment>, widgets: &ApiResource) -> Result<(), Error> {
    /// // With `.watch(Owned::<DynamicObject>::dynamic(widgets))` in `wire`, and
    /// // `.access(AccessRule::of_resource(&widgets, ["delete"]))`.
    /// if let Some(widget) = cx.get_of::<DynamicObject>(widgets, "a")? {
    ///     cx.delete_of(widgets, &*widget).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Client`] if the request failed.
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
        let key = self.key_of("delete", resource, object)?;
        self.forget_applied::<C>(resource, &key);
        match self
            .send_delete::<C>("delete", resource, &key, &params)
            .await
        {
            // Another object has its name.
            Err(error) if error.is_conflict() => Ok(()),
            ended => ended,
        }
    }

    /// Deletes the object with that key, with the preconditions, the propagation and the grace period of `params`. If the
    /// object is gone already, this succeeds.
    ///
    /// Later reads of this call do not show the object. If the cache still has an older object of that name, and the call has not
    /// read the deleted one, they show the older one.
    ///
    /// # Errors
    /// [`Error::Client`] if the request failed; [`is_conflict`](crate::client::Error::is_conflict) if a precondition does not
    /// hold.
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

    /// Makes the next apply of this child send its request, although the cache may still have the deleted child.
    fn forget_applied<C: Object>(&self, resource: &ApiResource, key: &ObjectKey) {
        let id = child_id::<C>(resource, key);
        let deleted = Applied {
            written: None,
            answer: None,
            run: self.run,
        };
        let key_states = &self.shared.controller.key_states;
        key_states.with(&self.key, |state| state.applied.insert(id, deleted));
    }

    pub(crate) async fn send_delete<C>(
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
        let send = api.delete_with_answer(key.name(), params);
        let ended = self.write_deletion(verb, resource, key, send).await;
        match ended {
            Err(Error::Client(error)) if error.is_not_found() => Ok(()),
            ended => ended,
        }
    }

    /// The key of `object`. An empty namespace stands for that of the reconciled object.
    fn key_of<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        object: &C,
    ) -> Result<ObjectKey, Error> {
        match resource.namespaced && object.namespace().is_none() {
            true => self.key_beside(verb, resource, object.name()),
            false => Ok(object.key()),
        }
    }

    fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.shared.field_manager.clone()),
            ..PostParams::default()
        }
    }
}
