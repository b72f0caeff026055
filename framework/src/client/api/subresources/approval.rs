use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::super::api::Api;
use crate::client::{Error, Patch, PatchParams, PostParams};

/// Methods of CertificateSigningRequests only.
impl Api<CertificateSigningRequest> {
    /// Replaces the approval of the request named `name`: the conditions `Approved` and `Denied`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}};
    /// # use pilothouse::k8s::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
    /// # async fn example(requests: Api<CertificateSigningRequest>) -> Result<(), Error> {
    /// let mut request = requests.get("kubelet-1").await?;
    /// let approved = CertificateSigningRequestCondition {
    ///     type_: "Approved".into(), status: "True".into(),
    ///     reason: Some("KnownNode".into()), ..Default::default()
    /// };
    /// let status = request.status.get_or_insert_default();
    /// status.conditions.get_or_insert_default().push(approved);
    /// requests.replace_approval("kubelet-1", &PostParams::default(), &request).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_conflict`] if the given object has a resource
    /// version that is no longer the newest.
    pub async fn replace_approval(
        &self,
        name: &str,
        params: &PostParams,
        request: &CertificateSigningRequest,
    ) -> Result<CertificateSigningRequest, Error> {
        self.replace_subresource(name, "approval", params, request)
            .await
    }

    /// Changes the approval of the request named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, Patch, PatchParams}, k8s::api::certificates::v1::CertificateSigningRequest};
    /// # async fn example(requests: Api<CertificateSigningRequest>) -> Result<(), Error> {
    /// let denied = Patch::Strategic(serde_json::json!({"status": {"conditions": [
    ///     {"type": "Denied", "status": "True", "reason": "UnknownNode"},
    /// ]}}));
    /// requests.patch_approval("kubelet-1", &PatchParams::default(), &denied).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such object. [`Error::is_invalid`] if the server does not accept the
    /// change.
    pub async fn patch_approval(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch,
    ) -> Result<CertificateSigningRequest, Error> {
        self.patch_subresource(name, "approval", params, patch)
            .await
    }
}
