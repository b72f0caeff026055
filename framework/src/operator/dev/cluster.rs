use std::{
    env, io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use pilothouse_sandbox::{HttpsServer, Sandbox};

use super::kubeconfig::{self, Kubeconfig};
use crate::{client::Config, operator::OperatorError, resource::ApiResource};

/// The time limit for the end of the server. What a client was told is on the disk before, if there is a data folder.
const GRACE: Duration = Duration::from_secs(2);

/// The API server in this process. Clients reach it over HTTPS on loopback.
pub(in crate::operator) struct DevCluster {
    sandbox: Sandbox,
    /// The server listens as long as this exists.
    server: HttpsServer,
    /// No other process replaces the file as long as this exists.
    kubeconfig: Kubeconfig,
    config: Config,
}

impl DevCluster {
    /// Starts the server, with the objects in the folder `data` if there is one, and writes its kubeconfig.
    pub(in crate::operator) async fn start(
        operator: &str,
        port: u16,
        data: Option<&Path>,
    ) -> Result<Self, OperatorError> {
        let cache = kubeconfig::cache(|name| env::var_os(name))?;
        Self::start_in(&cache, operator, port, data).await
    }

    /// As [`start`](Self::start), with the kubeconfig in a folder below `cache`.
    async fn start_in(
        cache: &Path,
        operator: &str,
        port: u16,
        data: Option<&Path>,
    ) -> Result<Self, OperatorError> {
        let failed = |reason| OperatorError::Sandbox { port, reason };
        // The operator and the kubeconfig's user are administrators. A user of `kubectl --as` has only the permissions
        // that roles give.
        let mut builder = Sandbox::builder().simulator(true).rbac(true);
        if let Some(folder) = data {
            builder = builder.data(folder);
        }
        let sandbox = builder.build().map_err(|error| failed(error.to_string()))?;
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

    /// The server itself.
    pub(in crate::operator) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The address of the server.
    pub(in crate::operator) fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// The path of its kubeconfig.
    pub(in crate::operator) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig.path
    }

    /// The usual path of the kubeconfig, if another running process uses it.
    pub(in crate::operator) fn taken_kubeconfig(&self) -> Option<&Path> {
        self.kubeconfig.taken.as_deref()
    }

    /// The kinds among these that the server only stores, although a real cluster acts on them.
    pub(in crate::operator) fn only_stored(&self, kinds: &[ApiResource]) -> Vec<String> {
        kinds
            .iter()
            .filter(|kind| self.sandbox.only_stores(&kind.group, &kind.kind))
            .map(|kind| kind.kind.to_string())
            .collect()
    }

    /// The client configuration for the server.
    pub(in crate::operator) fn config(&self) -> Config {
        self.config.clone()
    }

    /// Stops the server within 2 s.
    pub(in crate::operator) async fn stop(self) {
        let shutdown = self.sandbox.shutdown();
        if tokio::time::timeout(GRACE, shutdown).await.is_err() {
            tracing::warn!(
                "the API server did not end within {GRACE:?}: continuing without waiting"
            );
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use: choose another with --port, or 0 for a free one".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        authorization::v1::{
            ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
        },
        core::v1::{ConfigMap, Namespace},
        networking::v1::Ingress,
        policy::v1::PodDisruptionBudget,
    };

    use super::*;
    use crate::client::{Api, Client, Impersonation, ListParams, PostParams};

    /// Whether the user of `config` may list ConfigMaps: by the list itself, and by the review of `kubectl auth can-i`.
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
    async fn the_kubeconfigs_user_has_all_permissions_and_another_user_none() {
        let cache = tempfile::tempdir().unwrap();
        let cluster = DevCluster::start_in(cache.path(), "website", 0, None);
        let cluster = cluster.await.unwrap();
        assert_eq!(may_list(cluster.config()).await, (true, true));
        let somebody = cluster
            .config()
            .with_impersonation(Impersonation::new("jane"));
        assert_eq!(may_list(somebody).await, (false, false));
        cluster.stop().await;
    }

    #[tokio::test]
    async fn kinds_that_no_controller_acts_on_are_listed() {
        let cache = tempfile::tempdir().unwrap();
        let cluster = DevCluster::start_in(cache.path(), "website", 0, None);
        let cluster = cluster.await.unwrap();
        let kinds = [
            ApiResource::of::<Deployment>(),
            ApiResource::of::<PodDisruptionBudget>(),
            ApiResource::of::<ConfigMap>(),
            ApiResource::of::<Ingress>(),
            ApiResource::of::<Namespace>(),
        ];
        assert_eq!(cluster.only_stored(&kinds), ["Ingress"]);
        cluster.stop().await;
    }
}
