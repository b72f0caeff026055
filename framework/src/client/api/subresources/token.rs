use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};

use super::super::api::Api;
use crate::client::{Error, PostParams};

/// Methods of ServiceAccounts only.
impl Api<ServiceAccount> {
    /// Requests a token of the ServiceAccount named `name`.
    ///
    /// The token is a secret. It is in the status of the answer and nowhere else.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Api, Error, PostParams}, k8s::api::core::v1::ServiceAccount};
    /// # async fn example(accounts: Api<ServiceAccount>) -> Result<(), Error> {
    /// use pilothouse::k8s::api::authentication::v1::{TokenRequest, TokenRequestSpec};
    ///
    /// let request = TokenRequest {
    ///     spec: Some(TokenRequestSpec { expiration_seconds: Some(3600), ..Default::default() }),
    ///     ..Default::default()
    /// };
    /// let answer = accounts.create_token("builder", &PostParams::default(), &request).await?;
    /// let token = answer.status.and_then(|status| status.token);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if there is no such ServiceAccount. [`Error::is_forbidden`] without `create` on
    /// `serviceaccounts/token`.
    pub async fn create_token(
        &self,
        name: &str,
        params: &PostParams,
        request: &TokenRequest,
    ) -> Result<TokenRequest, Error> {
        self.create_subresource(name, "token", params, request)
            .await
    }
}
