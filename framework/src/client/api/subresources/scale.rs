use k8s_openapi::api::autoscaling::v1::Scale;
use serde::{Serialize, de::DeserializeOwned};

use super::super::api::Api;
use crate::{
    client::{Error, Patch, PatchParams, PostParams},
    resource::{ByName, Object},
};

/// The scale of kinds that have one: Deployments, ReplicaSets, StatefulSets, ReplicationControllers, and custom
/// resources that declare it. For other kinds the server answers 404.
impl<K: Object + Serialize + DeserializeOwned, R> Api<K, R> {
    /// Returns the desired and the observed number of replicas of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let scale = deployments.get_scale("web").await?;
    /// println!("{:?}", scale.status.map(|status| status.replicas));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource.
    pub async fn get_scale(&self, name: &str) -> Result<Scale, Error>
    where
        R: ByName,
    {
        self.get_subresource(name, "scale").await
    }

    /// Replaces the scale of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let mut scale = deployments.get_scale("web").await?;
    /// scale.spec.get_or_insert_default().replicas = Some(5);
    /// deployments.replace_scale("web", &PostParams::default(), &scale).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource. [`Error::is_conflict`]
    /// if the given object has a resource version that is no longer the newest.
    pub async fn replace_scale(
        &self,
        name: &str,
        params: &PostParams,
        scale: &Scale,
    ) -> Result<Scale, Error>
    where
        R: ByName,
    {
        self.replace_subresource(name, "scale", params, scale).await
    }

    /// Changes the scale of the object named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// let five = Patch::Merge(serde_json::json!({"spec": {"replicas": 5}}));
    /// deployments.patch_scale("web", &PatchParams::default(), &five).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object, or the kind has no such subresource. [`Error::is_invalid`]
    /// if the server does not accept the change.
    pub async fn patch_scale(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<Scale, Error>
    where
        R: ByName,
    {
        self.patch_subresource(name, "scale", params, patch).await
    }
}
