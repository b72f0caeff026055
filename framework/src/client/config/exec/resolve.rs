use std::path::{Path, is_separator};

use secrecy::ExposeSecret;

use super::{ExecConfig, ExecVersion, InteractiveMode};
use crate::client::config::{
    ConfigError,
    kubeconfig::{Cluster, Entry, Exec, User},
};

/// The name of the extension with the configuration for a cluster's credential plugin.
const EXTENSION: &str = "client.authentication.k8s.io/exec";

/// The plugin of a kubeconfig's user, for `cluster`.
pub(in crate::client::config) fn resolve(
    exec: &Exec,
    user: &Entry<User>,
    cluster: &Cluster,
    origin: &str,
) -> Result<ExecConfig, ConfigError> {
    let wrong = |text: String| Err(ConfigError::new(format!("{origin}: {text}")));
    let Some(command) = given(&exec.command) else {
        return wrong("`exec` names no command: add `exec.command`".to_owned());
    };
    let (v1, v1beta1) = (ExecVersion::V1.as_str(), ExecVersion::V1Beta1.as_str());
    let Some(version) = given(&exec.api_version) else {
        return wrong(format!(
            "`exec` has no apiVersion: add `exec.apiVersion: {v1}`, or the other one that the plugin speaks"
        ));
    };
    let Some(version) = ExecVersion::parse(version) else {
        return wrong(format!(
            "exec.apiVersion `{version}` is not supported: use {v1} or {v1beta1}, and a plugin that speaks it"
        ));
    };
    let mode = match given(&exec.interactive_mode) {
        Some(mode) => InteractiveMode::parse(mode),
        // Only version v1 requires this field.
        None if version == ExecVersion::V1Beta1 => Some(InteractiveMode::IfAvailable),
        None => {
            return wrong(
                "`exec` has no interactiveMode: add `exec.interactiveMode: Never`, or IfAvailable, or Always".to_owned(),
            );
        }
    };
    let Some(mode) = mode else {
        return wrong("exec.interactiveMode must be Never, IfAvailable or Always".to_owned());
    };
    // A bare name is looked up in `PATH`. Anything else is a path relative to the kubeconfig.
    let mut plugin = if command.contains(is_separator) && !Path::new(command).is_absolute() {
        ExecConfig::new(user.path(command))
    } else {
        ExecConfig::new(command)
    };
    plugin = plugin
        .args(exec.args.iter().flatten())
        .version(version)
        .interactive_mode(mode);
    for variable in exec.env.iter().flatten() {
        if variable.name.is_empty() || variable.name.contains(['=', '\0']) {
            return wrong(
                "a variable in `exec.env` has no proper name: correct its `name`".to_owned(),
            );
        }
        let value = variable.value.as_ref().map(ExposeSecret::expose_secret);
        plugin = plugin.env(&variable.name, value.unwrap_or_default());
    }
    if let Some(hint) = given(&exec.install_hint) {
        plugin = plugin.install_hint(hint);
    }
    if exec.provide_cluster_info == Some(true) {
        let mut extensions = cluster.extensions.iter().flatten();
        let config = extensions
            .find(|extension| extension.name == EXTENSION)
            .and_then(|extension| extension.extension.clone());
        plugin = plugin.provide_cluster_info(config);
    }
    Ok(plugin)
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
