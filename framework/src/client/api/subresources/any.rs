use serde::{Serialize, de::DeserializeOwned};

use super::super::api::Api;
use crate::{
    client::{Error, Patch, PatchParams, PostParams},
    resource::{ByName, Object},
};

/// Any subresource by its name.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns a subresource of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, resource::DynamicObject};
    /// # async fn example(gadgets: Api<DynamicObject>) -> Result<(), Error> {
    /// use pilothouse::k8s::api::autoscaling::v1::Scale;
    ///
    /// let scale: Scale = gadgets.get_subresource("a", "scale").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind does not have this subresource.
    pub async fn get_subresource<T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<T, Error>
    where
        R: ByName,
    {
        self.read(self.call("get", Some(name), Some(subresource)))
            .await
    }

    /// Creates a subresource of the object named `name`. For requests of the API that are not objects.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, resource::{DynamicObject, Status}};
    /// # async fn example(pods: Api<DynamicObject>) -> Result<(), Error> {
    /// let eviction = serde_json::json!({
    ///     "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"},
    /// });
    /// let done: Status =
    ///     pods.create_subresource("web-0", "eviction", &PostParams::default(), &eviction).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind does not have this subresource.
    pub async fn create_subresource<B: Serialize, T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PostParams,
        body: &B,
    ) -> Result<T, Error>
    where
        R: ByName,
    {
        let call = self.call("create", Some(name), Some(subresource));
        self.post(call, params, body).await
    }

    /// Replaces a subresource of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::Namespace};
    /// # async fn example(namespaces: Api<Namespace>) -> Result<(), Error> {
    /// let mut stuck = namespaces.get("stuck").await?;
    /// stuck.spec.get_or_insert_default().finalizers = None;
    /// let _: Namespace = namespaces
    ///     .replace_subresource("stuck", "finalize", &PostParams::default(), &stuck)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind does not have this subresource.
    /// [`Error::is_conflict`] if `object` has a resource version that is no longer the newest.
    pub async fn replace_subresource<B: Serialize, T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PostParams,
        body: &B,
    ) -> Result<T, Error>
    where
        R: ByName,
    {
        let call = self.call("update", Some(name), Some(subresource));
        self.post(call, params, body).await
    }

    /// Changes a subresource of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, resource::DynamicObject};
    /// # async fn example(gadgets: Api<DynamicObject>) -> Result<(), Error> {
    /// use pilothouse::k8s::api::autoscaling::v1::Scale;
    ///
    /// let five = Patch::Merge(serde_json::json!({"spec": {"replicas": 5}}));
    /// let _: Scale =
    ///     gadgets.patch_subresource("a", "scale", &PatchParams::default(), &five).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind does not have this subresource.
    /// [`Error::is_conflict`] if an apply without `force` changes fields of another field manager.
    pub async fn patch_subresource<T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<T, Error>
    where
        R: ByName,
    {
        let call = self.call("patch", Some(name), Some(subresource));
        self.patch_as(call, params, patch).await
    }
}
