use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use futures_core::future::BoxFuture;

use super::{
    Config, ConfigError, Credentials, Roots, kubeconfig::Kubeconfig,
    proxy_variables::ProxyVariables, resolve::resolve,
};

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

impl Config {
    /// Loads the configuration of this process. Uses the kubeconfig files in `KUBECONFIG`; else, in a pod, its service
    /// account; else `~/.kube/config`. This is the order of controller-runtime.
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
    /// None of these exists, or the first that exists is invalid. The error says which one, where, and what to do.
    pub async fn infer() -> Result<Self, ConfigError> {
        Self::infer_with(&KubeconfigOptions::default()).await
    }

    /// As [`infer`](Self::infer), with the options of a command line. If any option is set, a kubeconfig is loaded.
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
    /// As for [`infer`](Self::infer).
    pub async fn infer_with(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        infer(options, &Environment::of_process()).await
    }

    /// Loads a kubeconfig: the file in `options`, else the files in `KUBECONFIG`, else `~/.kube/config`.
    ///
    /// It is read as kubectl reads it. If several files have an entry of one name, the first one is used with all its
    /// fields. Missing files are skipped as long as one exists. Paths are relative to the file that contains them.
    /// Unknown fields are ignored. Where kubectl would ask the person, or use a server on `localhost:8080`, this
    /// returns an error. It also returns an error for settings that the client does not support.
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
    /// A file is invalid, or the part of it that is used.
    pub async fn from_kubeconfig(options: &KubeconfigOptions) -> Result<Self, ConfigError> {
        from_files(options, &Environment::of_process()).await
    }

    /// Reads the configuration in the text of a kubeconfig. Paths in it are relative to the working directory.
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
    /// The text is invalid.
    pub async fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        let shown = "the given kubeconfig";
        let kubeconfig = Kubeconfig::parse(text, Path::new(shown))?;
        let config = resolve(&kubeconfig, &KubeconfigOptions::default(), shown).await?;
        proxied(config, &Environment::of_process())
    }

    /// Loads the configuration that Kubernetes gives to a pod: the address from its environment, and token, certificate
    /// authority and namespace of its service account. The token is read again when it changes.
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
    /// The process does not run in a pod, or the pod has no service account.
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
        // A pod without a service account may have a kubeconfig instead.
        Err(_) if home.is_some_and(|home| home.is_file()) => from_files(options, around).await,
        outcome => outcome,
    }
}

fn of_home(home: &Path) -> PathBuf {
    home.join(".kube/config")
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark, as PowerShell writes it.
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

/// The future is boxed, so that the crates that await it do not compile it again.
fn from_files<'a>(
    options: &'a KubeconfigOptions,
    around: &'a Environment,
) -> BoxFuture<'a, Result<Config, ConfigError>> {
    Box::pin(load(options, around))
}

async fn load(options: &KubeconfigOptions, around: &Environment) -> Result<Config, ConfigError> {
    let home = around.home.as_deref().map(of_home);
    let (files, whose): (Vec<PathBuf>, _) = match (&options.path, &around.kubeconfig, home) {
        (Some(path), _, _) => (vec![path.clone()], FilesChosenBy::Given),
        (None, Some(list), _) => {
            let files = std::env::split_paths(list);
            let files = files.filter(|file| !file.as_os_str().is_empty());
            (files.collect(), FilesChosenBy::Variable)
        }
        (None, None, Some(file)) => (vec![file], FilesChosenBy::Home),
        (None, None, None) => (Vec::new(), FilesChosenBy::Home),
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
        // Relative paths in the file are relative to it, wherever the process runs later.
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
        (None, FilesChosenBy::Given) => Err(ConfigError::new(format!(
            "kubeconfig {all} does not exist: check the path"
        ))),
        (None, FilesChosenBy::Variable) if all.is_empty() => Err(ConfigError::new(
            "KUBECONFIG names no file: correct it or unset it",
        )),
        (None, FilesChosenBy::Variable) => Err(ConfigError::new(format!(
            "KUBECONFIG names {all}, which does not exist: correct it or unset it"
        ))),
        (None, FilesChosenBy::Home) => Err(ConfigError::new(format!(
            "no API server is configured: set KUBECONFIG, write {}, or run in a pod",
            if all.is_empty() {
                "~/.kube/config"
            } else {
                &all
            }
        ))),
    }
}

/// Uses the proxy of the environment if the cluster names none.
fn proxied(mut config: Config, around: &Environment) -> Result<Config, ConfigError> {
    if config.proxy.is_none() {
        config.proxy = around.proxies.proxy_for(&config.url)?;
    }
    Ok(config)
}

/// The origin of the list of files.
enum FilesChosenBy {
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
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT give {address}, which is not a valid address"
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

/// The facts about the API server in a process's environment.
#[derive(Clone, Debug, Default)]
struct Environment {
    /// `KUBECONFIG`.
    kubeconfig: Option<OsString>,
    /// The user's home directory.
    home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`.
    service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`.
    service_port: Option<String>,
    /// `HTTPS_PROXY` and the other proxy variables.
    proxies: ProxyVariables,
    /// The folder of a pod's service account.
    service_account: PathBuf,
}

impl Environment {
    /// The environment of this process.
    fn of_process() -> Self {
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

#[cfg(test)]
mod kubectl_tests;
#[cfg(test)]
mod tests;
