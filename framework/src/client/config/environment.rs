use std::{ffi::OsString, path::PathBuf};

use super::proxy_variables::ProxyVariables;

/// The facts about the API server in a process's environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// `KUBECONFIG`.
    pub(super) kubeconfig: Option<OsString>,
    /// The user's home directory.
    pub(super) home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`.
    pub(super) service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`.
    pub(super) service_port: Option<String>,
    /// `HTTPS_PROXY` and the other proxy variables.
    pub(super) proxies: ProxyVariables,
    /// The folder of a pod's service account.
    pub(super) service_account: PathBuf,
}

impl Environment {
    /// The environment of this process.
    pub(super) fn of_process() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name)?.into_string().ok();
        Self {
            kubeconfig: set("KUBECONFIG"),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            service_host: text("KUBERNETES_SERVICE_HOST"),
            service_port: text("KUBERNETES_SERVICE_PORT"),
            proxies: ProxyVariables::of(text),
            service_account: "/var/run/secrets/kubernetes.io/serviceaccount".into(),
        }
    }
}
