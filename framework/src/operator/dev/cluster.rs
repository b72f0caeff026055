use std::{
    env, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use pilothouse_sandbox::{HttpsServer, Sandbox};

use super::kubeconfig;
use crate::{client::Config, operator::OperatorError};

/// How long the server may take to end. What it holds goes with the process anyway.
const GRACE: Duration = Duration::from_secs(2);

/// The API server in this process, reached over HTTPS on loopback as any other is.
pub(in crate::operator) struct DevCluster {
    sandbox: Sandbox,
    /// It listens as long as it is held.
    server: HttpsServer,
    kubeconfig: PathBuf,
    config: Config,
}

impl DevCluster {
    /// Starts the server and writes its kubeconfig.
    pub(in crate::operator) async fn start(
        operator: &str,
        port: u16,
    ) -> Result<Self, OperatorError> {
        let cache = kubeconfig::cache(|name| env::var_os(name))?;
        Self::start_in(&cache, operator, port).await
    }

    /// As [`start`](Self::start), with the kubeconfig below that folder.
    async fn start_in(cache: &Path, operator: &str, port: u16) -> Result<Self, OperatorError> {
        let failed = |reason| OperatorError::Sandbox { port, reason };
        // The operator and the kubeconfig's user are administrators. Whom `kubectl --as` names may do what roles
        // allow.
        let sandbox = Sandbox::builder()
            .simulator(true)
            .rbac(true)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let server = sandbox
            .serve_https((Ipv4Addr::LOCALHOST, port).into())
            .await
            .map_err(|error| failed(reason(&error)))?;
        let text = sandbox.kubeconfig(&server);
        let kubeconfig = kubeconfig::write(cache, operator, &text)?;
        Ok(Self {
            config: Config::from_yaml(&text).await?,
            kubeconfig,
            server,
            sandbox,
        })
    }

    /// Where it listens.
    pub(in crate::operator) fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Where its kubeconfig stands.
    pub(in crate::operator) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// How it is reached.
    pub(in crate::operator) fn config(&self) -> Config {
        self.config.clone()
    }

    /// Ends it and all that it holds, within 2 s.
    pub(in crate::operator) async fn stop(self) {
        let shutdown = self.sandbox.shutdown();
        if tokio::time::timeout(GRACE, shutdown).await.is_err() {
            tracing::warn!("the API server has not ended within {GRACE:?}: it is left");
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is taken: choose another with --port, or 0 for a free one".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        authorization::v1::{
            ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
        },
        core::v1::ConfigMap,
    };

    use super::*;
    use crate::client::{Api, Client, Impersonation, ListParams, PostParams};

    /// Whether its user may list ConfigMaps: as the list says, and as `kubectl auth can-i` asks.
    async fn may_list(config: Config) -> (bool, bool) {
        let client = Client::new(config).unwrap();
        let maps = Api::<ConfigMap>::all(&client);
        let listed = match maps.list(&ListParams::default()).await {
            Ok(_) => true,
            Err(error) => {
                assert!(error.is_forbidden(), "{error}");
                false
            }
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: Some("list".into()),
                    resource: Some("configmaps".into()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let reviews = Api::all(&client);
        let review = reviews.create(&PostParams::default(), &review).await;
        (listed, review.unwrap().status.unwrap().allowed)
    }

    #[tokio::test]
    async fn the_kubeconfigs_user_may_do_everything_and_another_user_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let cluster = DevCluster::start_in(cache.path(), "website", 0);
        let cluster = cluster.await.unwrap();
        assert_eq!(may_list(cluster.config()).await, (true, true));
        let somebody = cluster
            .config()
            .with_impersonation(Impersonation::new("jane"));
        assert_eq!(may_list(somebody).await, (false, false));
        cluster.stop().await;
    }
}
