use k8s_openapi::api::core::v1::{Binding, Pod};
use serde_json::{Value, json};

use super::super::api::Api;
use crate::{
    client::{DeleteParams, Error, Patch, PatchParams, PostParams},
    resource::Status,
};

/// Methods of Pods only.
impl Api<Pod> {
    /// Asks the server to delete the Pod named `name`, if its disruption budgets allow that (policy/v1 Eviction).
    ///
    /// `delete` says how to delete the Pod. A dry run only asks whether the eviction is allowed.
    ///
    /// Some refusals say when to try again, such as a refusal because the budget's status is not up to date (10 s). The
    /// client then tries again by itself, as client-go does: up to ten times within the total deadline. So this call
    /// may take minutes. A refusal by an up-to-date budget names no time; it is an error at once.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, DeleteParams, Error}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// match pods.evict("web-0", &DeleteParams::default()).await {
    ///     Err(error) if error.has_cause("DisruptionBudget") => println!("later: {error}"),
    ///     outcome => outcome?,
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_too_many_requests`] with the cause `DisruptionBudget` if a budget does not allow the eviction now.
    pub async fn evict(&self, name: &str, delete: &DeleteParams) -> Result<(), Error> {
        let call = self.call("create", Some(name), Some("eviction"));
        delete.check(true).map_err(|wrong| call.invalid(wrong))?;
        let mut eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": self.namespace()},
        });
        if let Some(options) = delete.body() {
            let options = serde_json::to_value(options).unwrap_or(Value::Null);
            eviction["deleteOptions"] = options;
        }
        let params = PostParams {
            dry_run: delete.dry_run,
            ..PostParams::default()
        };
        self.post::<_, Status>(call, &params, &eviction).await?;
        Ok(())
    }

    /// Places the Pod named `name` on a node, as a scheduler does.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::{Binding, ObjectReference, Pod}};
    /// # use pilothouse::resource::Object;
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let node = ObjectReference {
    ///     kind: Some("Node".into()), name: Some("node-1".into()), ..Default::default()
    /// };
    /// let binding = Binding { target: node, ..Binding::named("web-0") };
    /// pods.bind("web-0", &PostParams::default(), &binding).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_conflict`] if the Pod has a node already.
    pub async fn bind(
        &self,
        name: &str,
        params: &PostParams,
        binding: &Binding,
    ) -> Result<(), Error> {
        let done = self.create_subresource::<_, Status>(name, "binding", params, binding);
        done.await.map(|_| ())
    }

    /// Changes the ephemeral containers of the Pod named `name`. The server allows adding them, but not removing them.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let debug = Patch::Strategic(serde_json::json!({"spec": {"ephemeralContainers": [
    ///     {"name": "debug", "image": "busybox", "stdin": true, "tty": true},
    /// ]}}));
    /// pods.patch_ephemeral_containers("web-0", &PatchParams::default(), &debug).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_invalid`] if the server does not accept the
    /// change.
    pub async fn patch_ephemeral_containers(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<Pod, Error> {
        self.patch_subresource(name, "ephemeralcontainers", params, patch)
            .await
    }

    /// Replaces the ephemeral containers of the Pod named `name` with those of `pod`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::{EphemeralContainer, Pod}};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let mut pod = pods.get("web-0").await?;
    /// let debug = EphemeralContainer {
    ///     name: "debug".into(), image: Some("busybox".into()), ..Default::default()
    /// };
    /// let spec = pod.spec.get_or_insert_default();
    /// spec.ephemeral_containers.get_or_insert_default().push(debug);
    /// pods.replace_ephemeral_containers("web-0", &PostParams::default(), &pod).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_conflict`] if the given object has a resource
    /// version that is no longer the newest.
    pub async fn replace_ephemeral_containers(
        &self,
        name: &str,
        params: &PostParams,
        pod: &Pod,
    ) -> Result<Pod, Error> {
        self.replace_subresource(name, "ephemeralcontainers", params, pod)
            .await
    }

    /// Changes the resources of the containers of the Pod named `name` while they run (KEP-1287).
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>) -> Result<(), Error> {
    /// let more = Patch::Strategic(serde_json::json!({"spec": {"containers": [
    ///     {"name": "web", "resources": {"requests": {"cpu": "200m"}}},
    /// ]}}));
    /// pods.patch_resize("web-0", &PatchParams::default(), &more).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_invalid`] if the server does not accept the
    /// change.
    pub async fn patch_resize(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<Pod, Error> {
        self.patch_subresource(name, "resize", params, patch).await
    }

    /// Replaces the resources of the containers of the Pod named `name` with those of `pod`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::Pod};
    /// # async fn example(pods: Api<Pod>, wanted: Pod) -> Result<(), Error> {
    /// pods.replace_resize("web-0", &PostParams::default(), &wanted).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_conflict`] if the given object has a resource
    /// version that is no longer the newest.
    pub async fn replace_resize(
        &self,
        name: &str,
        params: &PostParams,
        pod: &Pod,
    ) -> Result<Pod, Error> {
        self.replace_subresource(name, "resize", params, pod).await
    }
}
