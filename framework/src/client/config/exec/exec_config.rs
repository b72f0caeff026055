use std::{ffi::OsString, fmt, time::Duration};

use secrecy::SecretString;

use super::{ExecVersion, InteractiveMode};

/// A credential plugin: a command that prints an `ExecCredential` with a token, a client
/// certificate, or both.
///
/// It runs at the first request, shortly before its credentials expire, and once after the server
/// has refused them; whoever needs its credentials meanwhile waits for the same run. Its standard
/// error goes to that of the process; what it prints as credentials appears nowhere. A run that
/// nobody waits for any more is killed.
///
/// The environment is that of the process, with [`env`](Self::env) and `KUBERNETES_EXEC_INFO`
/// added. `Debug` shows neither arguments nor values.
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
    /// The cluster's own word to the plugin; only sent with the cluster's info.
    pub(crate) cluster_config: Option<serde_json::Value>,
    pub(crate) timeout: Duration,
}

impl ExecConfig {
    /// The plugin that `command` starts: a path, or a name to be found in `PATH`.
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
            // Somebody may have to log in with a browser first.
            timeout: Duration::from_secs(120),
        }
    }

    /// Give it these arguments, after those given before.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Set an environment variable for it.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env
            .push((name.into(), SecretString::from(value.into())));
        self
    }

    /// Speak this version with it; default [`ExecVersion::V1`].
    #[must_use]
    pub fn version(mut self, version: ExecVersion) -> Self {
        self.version = version;
        self
    }

    /// Whether it may ask the person at the terminal; default [`InteractiveMode::IfAvailable`].
    #[must_use]
    pub fn interactive_mode(mut self, mode: InteractiveMode) -> Self {
        self.interactive_mode = mode;
        self
    }

    /// What the error says to do when the command is missing.
    #[must_use]
    pub fn install_hint(mut self, hint: impl Into<String>) -> Self {
        self.install_hint = Some(hint.into());
        self
    }

    /// Tell it which cluster the credentials are for: address, authority, and the cluster's own
    /// `config` for it, if it has one.
    #[must_use]
    pub fn provide_cluster_info(mut self, config: Option<serde_json::Value>) -> Self {
        self.provide_cluster_info = true;
        self.cluster_config = config;
        self
    }

    /// Kill it after `timeout`; default 2 min.
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
