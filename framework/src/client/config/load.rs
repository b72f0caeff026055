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
    /// pod, that of its service account; else `~/.kube/config`. This is the order of
    /// controller-runtime.
    ///
    /// ```no_run
    /// use pilothouse::client::{Client, Config};
    ///
    /// # async fn example() -> Result<(), pilothouse::client::Error> {
    /// let client = Client::new(Config::infer().await?)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When there is none of these, or the first of them does not do: it says which, where and what
    /// to do about it.
    pub async fn infer() -> Result<Self, ConfigError> {
        Self::infer_with(&KubeconfigOptions::default()).await
    }

    /// The same, with the options of a command line: any of them means a kubeconfig.
    ///
    /// ```no_run
    /// use pilothouse::client::{Config, KubeconfigOptions};
    ///
    /// # async fn example() -> Result<(), pilothouse::client::ConfigError> {
    /// let staging = KubeconfigOptions { context: Some("staging".into()), ..Default::default() };
    /// let config = Config::infer_with(&staging).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As those of [`infer`](Self::infer).
    pub async fn infer_with(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        infer(options, &Environment::of_process()).await
    }

    /// The configuration of a kubeconfig: the file that `options` names, else those that
    /// `KUBECONFIG` names, else `~/.kube/config`.
    ///
    /// It means what it means to kubectl: of several files the first that has an entry of a name
    /// counts, with all its fields; missing ones are passed over as long as there is one; paths are
    /// relative to the file that they stand in; unknown fields count for nothing. What kubectl would
    /// ask the person for, or take a server on `localhost:8080` instead, is an error, and so is what
    /// the client does not support.
    ///
    /// ```no_run
    /// use pilothouse::client::{Config, KubeconfigOptions};
    ///
    /// # async fn example() -> Result<(), pilothouse::client::ConfigError> {
    /// let staging = KubeconfigOptions {
    ///     context: Some("staging".into()),
    ///     ..KubeconfigOptions::default()
    /// };
    /// let config = Config::from_kubeconfig(&staging).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When a file, or what is to be used of it, does not do.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        from_files(options, &Environment::of_process()).await
    }

    /// The configuration in a kubeconfig's text; paths in it are relative to the working directory.
    ///
    /// ```
    /// use pilothouse::client::Config;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), pilothouse::client::ConfigError> {
    /// let text = "
    /// current-context: production
    /// contexts: [{name: production, context: {cluster: one, user: robot, namespace: team}}]
    /// clusters: [{name: one, cluster: {server: 'https://one.example:6443'}}]
    /// users: [{name: robot, user: {token: secret}}]
    /// ";
    /// let config = Config::from_yaml(text).await?;
    /// assert_eq!(config.default_namespace(), "team");
    /// # Ok(()) }
    /// ```
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
    /// ```no_run
    /// use pilothouse::client::Config;
    ///
    /// # async fn example() -> Result<(), pilothouse::client::ConfigError> {
    /// let config = Config::in_cluster().await?;
    /// # Ok(()) }
    /// ```
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
    if around.service_host.is_none() {
        return from_files(options, around).await;
    }
    let in_cluster = in_cluster(around).await;
    let home = around.home.as_deref().map(of_home);
    match in_cluster {
        // A pod without a service account may have brought a kubeconfig instead.
        Err(_) if home.is_some_and(|home| home.is_file()) => from_files(options, around).await,
        outcome => outcome,
    }
}

fn of_home(home: &Path) -> PathBuf {
    home.join(".kube/config")
}

/// A file's text: UTF-8, or with a byte order mark UTF-16 as PowerShell writes it.
fn text(bytes: &[u8]) -> Option<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.as_chunks();
        let units: Vec<u16> = units.iter().copied().map(unit).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => Some(str::from_utf8(bytes).ok()?.to_owned()),
    }
}

async fn from_files(
    options: &KubeconfigOptions,
    around: &Environment,
) -> Result<Config, ConfigError> {
    let home = around.home.as_deref().map(of_home);
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
        let bytes = match tokio::fs::read(file).await {
            Ok(bytes) => bytes,
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
        let text = text(&bytes).ok_or_else(|| {
            ConfigError::new(format!(
                "kubeconfig {} cannot be read: it is neither UTF-8 nor UTF-16",
                file.display()
            ))
        })?;
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
        (None, Whose::Variable) if all.is_empty() => Err(ConfigError::new(
            "KUBECONFIG names no file: correct it or unset it",
        )),
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
    // The server is near.
    config.compression = Some(false);
    if let Ok(namespace) = file("namespace").await
        && let Ok(namespace) = String::from_utf8(namespace)
        && !namespace.trim().is_empty()
    {
        config.default_namespace = namespace.trim().to_owned();
    }
    proxied(config, around)
}

#[cfg(test)]
#[path = "kubectl_tests.rs"]
mod kubectl_tests;
#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
