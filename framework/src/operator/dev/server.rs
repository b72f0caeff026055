use std::{
    fs,
    path::{Path, PathBuf},
};

use super::DevCluster;
use crate::{
    client::{Config, KubeconfigOptions},
    operator::OperatorError,
    resource::ApiResource,
};

/// The API server that `dev` works with.
pub(in crate::operator) enum DevServer {
    /// One in this process, which ends with it.
    Own(DevCluster),
    /// One that runs already.
    Given { config: Config, kubeconfig: PathBuf },
}

impl DevServer {
    /// The server of a kubeconfig.
    ///
    /// # Errors
    /// [`OperatorError::Config`] if the file cannot be read or has no usable configuration.
    pub(in crate::operator) async fn of_kubeconfig(path: &Path) -> Result<Self, OperatorError> {
        // Not `Config::infer_with`: what the process finds elsewhere must not become the server.
        let options = KubeconfigOptions {
            path: Some(path.to_owned()),
            ..KubeconfigOptions::default()
        };
        let config = Config::from_kubeconfig(&options).await?;
        // The commands that `dev` prints work in any folder.
        let kubeconfig = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self::Given { config, kubeconfig })
    }

    /// Its URL.
    pub(in crate::operator) fn url(&self) -> String {
        match self {
            Self::Own(cluster) => format!("https://{}", cluster.address()),
            Self::Given { config, .. } => config.url().to_string(),
        }
    }

    /// The path of its kubeconfig.
    pub(in crate::operator) fn kubeconfig(&self) -> &Path {
        match self {
            Self::Own(cluster) => cluster.kubeconfig(),
            Self::Given { kubeconfig, .. } => kubeconfig,
        }
    }

    /// The usual path of the kubeconfig, if another running process uses it.
    pub(in crate::operator) fn taken_kubeconfig(&self) -> Option<&Path> {
        match self {
            Self::Own(cluster) => cluster.taken_kubeconfig(),
            Self::Given { .. } => None,
        }
    }

    /// The client configuration.
    pub(in crate::operator) fn config(&self) -> Config {
        match self {
            Self::Own(cluster) => cluster.config(),
            Self::Given { config, .. } => config.clone(),
        }
    }

    /// The kinds among these that the server is known only to store, although a real cluster acts on them.
    pub(in crate::operator) fn only_stored(&self, kinds: &[ApiResource]) -> Vec<String> {
        match self {
            Self::Own(cluster) => cluster.only_stored(kinds),
            Self::Given { .. } => Vec::new(),
        }
    }

    /// Stops the server if it runs in this process.
    pub(in crate::operator) async fn stop(self) {
        match self {
            Self::Own(cluster) => cluster.stop().await,
            Self::Given { .. } => {}
        }
    }
}
