use std::path::PathBuf;

/// Which kubeconfig to load, and which parts of it to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigOptions {
    /// The file. If `None`, the files in `KUBECONFIG`, or else `~/.kube/config`.
    pub path: Option<PathBuf>,
    /// The context, instead of the file's current one.
    pub context: Option<String>,
    /// The cluster, instead of the context's.
    pub cluster: Option<String>,
    /// The user, instead of the context's.
    pub user: Option<String>,
}
