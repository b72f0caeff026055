use std::{ffi::OsString, fmt, time::Duration};

use secrecy::SecretString;

/// A credential plugin: a command that prints an `ExecCredential` with a token, a client certificate, or both.
///
/// The client runs it at the first request, shortly before its credentials expire, and once after the server refused
/// them. Requests that need credentials meanwhile wait for the same run. The standard error of the plugin goes to the
/// standard error of the process. Its credentials appear nowhere. The client kills a run for which no request waits any
/// more.
///
/// The environment of the plugin is that of the process, with [`env`](Self::env) and `KUBERNETES_EXEC_INFO` added.
/// `Debug` shows neither arguments nor values.
///
/// ```
/// use pilothouse::client::{Config, Credentials, ExecConfig};
///
/// let plugin = ExecConfig::new("aws")
///     .args(["eks", "get-token", "--cluster-name", "production"])
///     .env("AWS_PROFILE", "operators")
///     .install_hint("see https://aws.amazon.com/cli");
/// let config = Config::new("https://eks.example".parse().unwrap())
///     .with_credentials(Credentials::Exec(plugin));
/// ```
#[derive(Clone)]
pub struct ExecConfig {
    pub(crate) command: OsString,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, SecretString)>,
    pub(crate) version: ExecVersion,
    pub(crate) interactive_mode: InteractiveMode,
    pub(crate) install_hint: Option<String>,
    pub(crate) provide_cluster_info: bool,
    /// The configuration of the plugin in the cluster's entry. Sent only with the cluster's info.
    pub(crate) cluster_config: Option<serde_json::Value>,
    pub(crate) timeout: Duration,
}

impl ExecConfig {
    /// The plugin with this command: a path, or a name in `PATH`.
    pub fn new(command: impl Into<OsString>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            version: ExecVersion::default(),
            interactive_mode: InteractiveMode::default(),
            install_hint: None,
            provide_cluster_info: false,
            cluster_config: None,
            // A person may have to log in with a browser first.
            timeout: Duration::from_secs(120),
        }
    }

    /// Adds arguments of the command.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable of the command.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env
            .push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Sets the version that the plugin speaks. The default is [`ExecVersion::V1`].
    #[must_use]
    pub fn version(mut self, version: ExecVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets whether the plugin may ask the person at the terminal. The default is [`InteractiveMode::IfAvailable`].
    #[must_use]
    pub fn interactive_mode(mut self, mode: InteractiveMode) -> Self {
        self.interactive_mode = mode;
        self
    }

    /// Sets what the error tells the user to do if the command is missing.
    #[must_use]
    pub fn install_hint(mut self, hint: impl Into<String>) -> Self {
        self.install_hint = Some(hint.into());
        self
    }

    /// Tells the plugin the cluster of the credentials: address, authority, and `config`, which is the cluster's own
    /// configuration for the plugin.
    #[must_use]
    pub fn provide_cluster_info(mut self, config: Option<serde_json::Value>) -> Self {
        self.provide_cluster_info = true;
        self.cluster_config = config;
        self
    }

    /// Kills the plugin after `timeout`. The default is 2 min.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecConfig")
            .field("command", &self.command)
            .field("version", &self.version)
            .field("interactive_mode", &self.interactive_mode)
            .finish_non_exhaustive()
    }
}

/// The version of `client.authentication.k8s.io` that a credential plugin speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecVersion {
    /// `client.authentication.k8s.io/v1`.
    #[default]
    V1,
    /// `client.authentication.k8s.io/v1beta1`.
    V1Beta1,
}

impl ExecVersion {
    /// The value of `apiVersion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let versions = [Self::V1, Self::V1Beta1];
        versions
            .into_iter()
            .find(|version| version.as_str() == text)
    }
}

/// Whether a credential plugin may ask the person at the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// Never. The plugin gets no standard input.
    Never,
    /// If standard input is a terminal.
    #[default]
    IfAvailable,
    /// Always. Without a terminal, the plugin is not started.
    Always,
}

impl InteractiveMode {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "Never" => Some(Self::Never),
            "IfAvailable" => Some(Self::IfAvailable),
            "Always" => Some(Self::Always),
            _ => None,
        }
    }
}
