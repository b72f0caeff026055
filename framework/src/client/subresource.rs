use serde::{Serialize, de::DeserializeOwned};

use super::{Api, Error, Patch, PatchParams, PostParams};
use crate::resource::Object;

/// Subresources: the status, and any other by its name.
impl<K: Object + Serialize + DeserializeOwned> Api<K> {
    /// The object named `name`, read through its status subresource.
    pub async fn get_status(&self, name: &str) -> Result<K, Error> {
        self.get_subresource(name, "status").await
    }

    /// Replaces the status of the object named `name` by that of `object`.
    pub async fn replace_status(
        &self,
        name: &str,
        params: &PostParams,
        object: &K,
    ) -> Result<K, Error> {
        self.replace_subresource(name, "status", params, object)
            .await
    }

    /// Changes the status of the object named `name`.
    pub async fn patch_status(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<K, Error> {
        self.patch_subresource(name, "status", params, patch).await
    }

    /// A subresource, such as `scale`, of the object named `name`.
    pub async fn get_subresource<T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<T, Error> {
        self.read(self.call("get", Some(name), Some(subresource)))
            .await
    }

    /// Creates a subresource, such as `eviction` or `binding`, of the object named `name`.
    pub async fn create_subresource<B: Serialize, T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PostParams,
        body: &B,
    ) -> Result<T, Error> {
        let call = self.call("create", Some(name), Some(subresource));
        self.post(call, params, body).await
    }

    /// Replaces a subresource of the object named `name`.
    pub async fn replace_subresource<B: Serialize, T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PostParams,
        body: &B,
    ) -> Result<T, Error> {
        let call = self.call("update", Some(name), Some(subresource));
        self.post(call, params, body).await
    }

    /// Changes a subresource of the object named `name`.
    pub async fn patch_subresource<T: DeserializeOwned>(
        &self,
        name: &str,
        subresource: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<T, Error> {
        let call = self.call("patch", Some(name), Some(subresource));
        self.send_patch(call, params, patch).await
    }
}
