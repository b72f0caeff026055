use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    Config, ConfigError, Credentials, KubeconfigOptions, Roots, environment::Environment,
    kubeconfig::Kubeconfig, resolve::resolve,
};

impl Config {
    /// The configuration of this process: the kubeconfig files that `KUBECONFIG` names; else, in a
    /// pod, that of its service account; else `~/.kube/config`.
    ///
    /// # Errors
    /// When there is none of these, or the first of them does not do: it says which, where and what
    /// to do about it.
    pub async fn infer() -> Result<Self, ConfigError> {
        Self::infer_with(&KubeconfigOptions::default()).await
    }

    /// The same, with the options of a command line: any of them means a kubeconfig.
    ///
    /// # Errors
    /// As those of [`infer`](Self::infer).
    pub async fn infer_with(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        infer(options, &Environment::of_process()).await
    }

    /// The configuration of a kubeconfig: the file that `options` names, else those that
    /// `KUBECONFIG` names, else `~/.kube/config`.
    ///
    /// Of several files the first that has an entry counts. Paths are relative to the file that they
    /// stand in. What the client does not support is an error, never left out silently.
    ///
    /// # Errors
    /// When a file, or what is to be used of it, does not do.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        from_files(options, &Environment::of_process()).await
    }

    /// The configuration in a kubeconfig's text; paths in it are relative to the working directory.
    ///
    /// # Errors
    /// When the text does not do.
    pub async fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        let shown = "the given kubeconfig";
        let kubeconfig = Kubeconfig::parse(text, Path::new(shown))?;
        let config = resolve(&kubeconfig, &KubeconfigOptions::default(), shown).await?;
        proxied(config, &Environment::of_process())
    }

    /// The configuration that Kubernetes gives to a pod: the address in its environment, and the
    /// token, certificate authority and namespace of its service account. The token is read again as
    /// it is renewed.
    ///
    /// # Errors
    /// When the process does not run in a pod, or has no service account.
    pub async fn in_cluster() -> Result<Self, ConfigError> {
        in_cluster(&Environment::of_process()).await
    }
}

async fn infer(options: &KubeconfigOptions, around: &Environment) -> Result<Config, ConfigError> {
    if *options != KubeconfigOptions::default() || around.kubeconfig.is_some() {
        return from_files(options, around).await;
    }
    if around.service_host.is_some() {
        return in_cluster(around).await;
    }
    from_files(options, around).await
}

async fn from_files(
    options: &KubeconfigOptions,
    around: &Environment,
) -> Result<Config, ConfigError> {
    let home = around.home.as_ref().map(|home| home.join(".kube/config"));
    let (files, whose): (Vec<PathBuf>, _) = match (&options.path, &around.kubeconfig, home) {
        (Some(path), _, _) => (vec![path.clone()], Whose::Given),
        (None, Some(list), _) => {
            let files = std::env::split_paths(list);
            let files = files.filter(|file| !file.as_os_str().is_empty());
            (files.collect(), Whose::Variable)
        }
        (None, None, Some(file)) => (vec![file], Whose::Home),
        (None, None, None) => (Vec::new(), Whose::Home),
    };
    let mut merged = None;
    for file in &files {
        let text = match tokio::fs::read_to_string(file).await {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(ConfigError::new(format!(
                    "kubeconfig {} cannot be read: {}",
                    file.display(),
                    error.kind()
                )));
            }
        };
        // Relative paths in it are relative to it, wherever the process runs later.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let kubeconfig = Kubeconfig::parse(&text, &file)?;
        match &mut merged {
            None => merged = Some(kubeconfig),
            Some(merged) => merged.merge(kubeconfig),
        }
    }
    let all: Vec<_> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let all = all.join(", ");
    match (merged, whose) {
        (Some(kubeconfig), _) => {
            let config = resolve(&kubeconfig, options, &format!("kubeconfig {all}")).await?;
            proxied(config, around)
        }
        (None, Whose::Given) => Err(ConfigError::new(format!(
            "kubeconfig {all} does not exist: check the path"
        ))),
        (None, Whose::Variable) => Err(ConfigError::new(format!(
            "KUBECONFIG names {all}, which does not exist: correct it or unset it"
        ))),
        (None, Whose::Home) => Err(ConfigError::new(format!(
            "no API server is configured: set KUBECONFIG, write {}, or run in a pod",
            if all.is_empty() {
                "~/.kube/config"
            } else {
                &all
            }
        ))),
    }
}

/// The proxy of the environment counts where the cluster names none.
fn proxied(mut config: Config, around: &Environment) -> Result<Config, ConfigError> {
    if config.proxy.is_none() {
        config.proxy = around.proxies.proxy_for(&config.url)?;
    }
    Ok(config)
}

/// Who says which files to read.
enum Whose {
    Given,
    Variable,
    Home,
}

async fn in_cluster(around: &Environment) -> Result<Config, ConfigError> {
    let (Some(host), Some(port)) = (&around.service_host, &around.service_port) else {
        return Err(ConfigError::new(
            "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
        ));
    };
    let address = if host.contains(':') {
        format!("https://[{host}]:{port}")
    } else {
        format!("https://{host}:{port}")
    };
    let url = address.parse().map_err(|_| {
        ConfigError::new(format!(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT give {address}, which is no address"
        ))
    })?;
    let folder = &around.service_account;
    let file = |name: &str| {
        let path = folder.join(name);
        async move {
            tokio::fs::read(&path).await.map_err(|error| {
                ConfigError::new(format!(
                    "the pod's service account: {} cannot be read: {}: check automountServiceAccountToken",
                    path.display(),
                    error.kind()
                ))
            })
        }
    };
    file("token").await?;
    let mut config = Config::new(url);
    let path = folder.join("ca.crt");
    let origin = format!("{} of the pod's service account", path.display());
    config.tls.roots = Some(Roots {
        file: Some(path),
        ..Roots::given(file("ca.crt").await?, origin)
    });
    config.credentials = Credentials::TokenFile(folder.join("token"));
    config.credentials_origin = "the pod's service account".to_owned();
    if let Ok(namespace) = file("namespace").await
        && let Ok(namespace) = String::from_utf8(namespace)
        && !namespace.trim().is_empty()
    {
        config.default_namespace = namespace.trim().to_owned();
    }
    proxied(config, around)
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
