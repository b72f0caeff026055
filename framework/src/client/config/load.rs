use super::{Config, ConfigError, KubeconfigOptions};

impl Config {
    /// The configuration of this process.
    pub async fn infer() -> Result<Self, ConfigError> {
        Self::from_kubeconfig(&KubeconfigOptions::default()).await
    }

    /// The configuration of a kubeconfig.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        let _ = options;
        Err(ConfigError::new("not loaded"))
    }

    /// The configuration of a kubeconfig's text; paths in it are relative to the working directory.
    pub async fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        let _ = text;
        Err(ConfigError::new("not loaded"))
    }

    /// The configuration that Kubernetes gives to a pod.
    pub async fn in_cluster() -> Result<Self, ConfigError> {
        Err(ConfigError::new("not in a cluster"))
    }
}
