//! The server of a scenario.

use std::{future::Future, io::Write, sync::Arc, time::Duration};

use pilothouse::{
    client::{Api, Client, Config, DeleteParams, ExecParams, KubeconfigOptions, PostParams},
    k8s::api::core::v1::{ConfigMap, Namespace, Pod},
    resource::{Namespaced, Object, ObjectMeta, Resource},
};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::{
    containers::{NODE, WRITE_LINE},
    real::RealNode,
};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::time::Instant;

/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and the scenario's own namespace on it.
pub(crate) struct Target {
    /// The administrator's client.
    pub(crate) client: Client,
    /// The scenario's namespace.
    pub(crate) namespace: String,
    /// The administrator's kubeconfig. On a real server of our own it has the contexts `certificate`, which is the
    /// current one, and `token`; the sandbox's has the token only.
    pub(crate) kubeconfig: String,
    /// The nodes on which its Pods run.
    pub(crate) nodes: Nodes,
}

/// The component that runs Pods.
#[derive(Clone)]
pub(crate) enum Nodes {
    /// The sandbox's simulator.
    Simulated(Sandbox),
    /// A node of a real API server of our own.
    Served { _node: Arc<RealNode> },
    /// The kubelets of a given cluster.
    Foreign,
}

impl Target {
    pub(crate) async fn start(kubeconfig: String, nodes: Nodes) -> Self {
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
            nodes,
        }
    }

    /// Deletes the namespace with its content.
    pub(crate) async fn end(&self) {
        let namespaces = Api::<Namespace>::all(&self.client);
        let params = DeleteParams::default();
        namespaces.delete(&self.namespace, &params).await.unwrap();
    }

    /// Returns the client's configuration, so that a scenario can change it.
    pub(crate) async fn config(&self) -> Config {
        config(&self.kubeconfig, None).await
    }

    /// Returns the administrator's configuration with a bearer token.
    pub(crate) async fn config_with_token(&self) -> Config {
        let has = self.kubeconfig.contains(
            "- name: token
",
        );
        config(&self.kubeconfig, has.then_some("token")).await
    }

    /// Returns the API of a kind in the namespace.
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

    /// Creates a Pod with one container, `main`, waits until it runs, and returns the API of Pods in the namespace.
    pub(crate) async fn running_pod(&self, name: &str) -> Api<Pod> {
        let pods = self.api::<Pod>();
        let mut pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "containers": [{"name": "main", "image": "main"}],
                "automountServiceAccountToken": false,
            },
        }))
        .unwrap();
        let params = PostParams::default();
        if let (Nodes::Served { .. }, Some(spec)) = (&self.nodes, &mut pod.spec) {
            spec.node_name = Some(NODE.into());
        }
        // A namespace gets its service account a moment after its creation.
        let create = || async { pods.create(&params, &pod).await.ok() };
        self.until("the Pod is admitted", create).await;
        self.until("the Pod runs", || async {
            let status = pods.get(name).await.unwrap().status?;
            (status.phase? == "Running").then_some(())
        })
        .await;
        pods
    }

    /// Writes lines to the log of a Pod's container `main`.
    pub(crate) async fn write_log(&self, pod: &str, lines: &[&str]) {
        let pods = self.api::<Pod>();
        for line in lines {
            let write = ExecParams::new([WRITE_LINE, line]);
            let exit = pods.exec(pod, &write).await.unwrap().wait().await;
            assert!(exit.unwrap().is_success());
        }
    }

    /// Polls until the state is there.
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
            assert!(Instant::now() < late, "this did not happen in time: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) async fn config(kubeconfig: &str, context: Option<&str>) -> Config {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(kubeconfig.as_bytes()).unwrap();
    let options = KubeconfigOptions {
        path: Some(file.path().to_owned()),
        context: context.map(str::to_owned),
        ..Default::default()
    };
    Config::from_kubeconfig(&options).await.unwrap()
}

/// Returns a ConfigMap with one entry, `key: value`.
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
