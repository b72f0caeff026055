use serde::{Serialize, de::DeserializeOwned};

use super::super::api::Api;
use crate::{
    client::{Error, Patch, PatchParams, PostParams},
    resource::{ByName, Object},
};

/// The status of kinds that have it as a subresource.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns the object named `name`, read through its status subresource.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let status = deployments.get_status("web").await?.status;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource.
    pub async fn get_status(&self, name: &str) -> Result<K, Error>
    where
        R: ByName,
    {
        self.get_subresource(name, "status").await
    }

    /// Replaces the status of the object named `name` with that of `object`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let mut web = deployments.get("web").await?;
    /// web.status.get_or_insert_default().observed_generation = web.metadata.generation;
    /// deployments.replace_status("web", &PostParams::default(), &web).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource. [`Error::is_conflict`]
    /// if the given object has a resource version that is no longer the newest.
    pub async fn replace_status(
        &self,
        name: &str,
        params: &PostParams,
        object: &K,
    ) -> Result<K, Error>
    where
        R: ByName,
    {
        self.replace_subresource(name, "status", params, object)
            .await
    }

    /// Changes the status of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let seen = Patch::Merge(serde_json::json!({"status": {"observedGeneration": 2}}));
    /// deployments.patch_status("web", &PatchParams::default(), &seen).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource. [`Error::is_invalid`]
    /// if the server does not accept the change.
    pub async fn patch_status(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<K, Error>
    where
        R: ByName,
    {
        self.patch_subresource(name, "status", params, patch).await
    }
}
