//! The server that a scenario works with.

use std::{future::Future, io::Write, time::Duration};

use pilothouse::{
    client::{Api, Client, Config, DeleteParams, KubeconfigOptions, PostParams},
    k8s::api::core::v1::{ConfigMap, Namespace},
    resource::{Namespaced, Object, ObjectMeta, Resource},
};
use tempfile::NamedTempFile;
use tokio::time::Instant;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and a namespace of the scenario's own on it.
pub(crate) struct Target {
    /// The administrator's client.
    pub(crate) client: Client,
    /// The scenario's namespace.
    pub(crate) namespace: String,
    /// The administrator's kubeconfig. On a real server of our own it has the contexts `certificate`, which is the
    /// current one, and `token`; the sandbox's has the token only.
    pub(crate) kubeconfig: String,
}

impl Target {
    pub(crate) async fn start(kubeconfig: String) -> Self {
        let config = config(&kubeconfig, None).await;
        let client = Client::new(config).unwrap();
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some("client-".into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let namespaces = Api::<Namespace>::all(&client);
        let params = PostParams::default();
        let namespace = namespaces.create(&params, &namespace).await.unwrap();
        let namespace = namespace.name().to_owned();
        Self {
            client,
            namespace,
            kubeconfig,
        }
    }

    /// Removes the namespace with all that is in it.
    pub(crate) async fn end(&self) {
        let namespaces = Api::<Namespace>::all(&self.client);
        let params = DeleteParams::default();
        namespaces.delete(&self.namespace, &params).await.unwrap();
    }

    /// The configuration of the client, to be changed.
    pub(crate) async fn config(&self) -> Config {
        config(&self.kubeconfig, None).await
    }

    /// The configuration of the administrator that a bearer token is known by.
    pub(crate) async fn config_with_token(&self) -> Config {
        let has = self.kubeconfig.contains(
            "- name: token
",
        );
        config(&self.kubeconfig, has.then_some("token")).await
    }

    /// The objects of a kind in the namespace.
    pub(crate) fn api<K: Resource<Scope = Namespaced>>(&self) -> Api<K> {
        Api::namespaced(&self.client, &self.namespace)
    }

    /// Creates a ConfigMap with one entry, `key: value`.
    pub(crate) async fn map(&self, name: &str, labels: &[(&str, &str)]) -> ConfigMap {
        let maps = self.api::<ConfigMap>();
        maps.create(&PostParams::default(), &map(name, labels))
            .await
            .unwrap()
    }

    /// Looks again and again until there is what is waited for.
    pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> T {
        let late = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(Instant::now() < late, "waited in vain: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn config(kubeconfig: &str, context: Option<&str>) -> Config {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(kubeconfig.as_bytes()).unwrap();
    let options = KubeconfigOptions {
        path: Some(file.path().to_owned()),
        context: context.map(str::to_owned),
        ..Default::default()
    };
    Config::from_kubeconfig(&options).await.unwrap()
}

/// A ConfigMap with one entry, `key: value`.
pub(crate) fn map(name: &str, labels: &[(&str, &str)]) -> ConfigMap {
    let labels = labels.iter();
    let labels = labels.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some(labels.collect()),
            ..Default::default()
        },
        data: Some([("key".to_owned(), "value".to_owned())].into()),
        ..Default::default()
    }
}
