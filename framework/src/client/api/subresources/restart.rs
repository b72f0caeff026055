use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};

use super::super::api::Api;
use crate::{
    client::{Error, Patch, PatchParams},
    resource::Resource,
};

/// A kind whose Pods are replaced if its Pod template changes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not restarted by its Pod template",
    note = "Deployments, StatefulSets and DaemonSets are"
)]
pub trait Restart: Resource {}

impl Restart for Deployment {}
impl Restart for StatefulSet {}
impl Restart for DaemonSet {}

/// Methods of workloads only, as kubectl has them.
impl<K: Resource> Api<K> {
    /// Replaces all Pods of the object named `name`, according to its strategy (`kubectl rollout restart`). Writes the
    /// time into an annotation of the Pod template.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error}, k8s::api::apps::v1::Deployment};
    /// # async fn example(deployments: Api<Deployment>) -> Result<(), Error> {
    /// deployments.restart("web").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object.
    pub async fn restart(&self, name: &str) -> Result<K, Error>
    where
        K: Restart,
    {
        let now = self.client().clock().now().to_string();
        let patch = Patch::Merge(serde_json::json!({"spec": {"template": {"metadata": {
            "annotations": {"kubectl.kubernetes.io/restartedAt": now},
        }}}}));
        self.patch(name, &PatchParams::default(), &patch).await
    }
}
