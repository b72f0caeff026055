use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;

use crate::client::config::{Config, ExecConfig, Proxy};

/// The content of `KUBERNETES_EXEC_INFO`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    api_version: &'static str,
    kind: &'static str,
    spec: Spec<'a>,
}

#[derive(Serialize)]
struct Spec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a Cluster>,
    interactive: bool,
}

/// The cluster for which the credentials are.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cluster {
    server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_server_name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    insecure_skip_tls_verify: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_authority_data: Option<String>,
    /// With its password, because the plugin must use the proxy, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<serde_json::Value>,
}

impl Cluster {
    /// The cluster information that `exec` asks for.
    pub(super) fn new(config: &Config, exec: &ExecConfig) -> Option<Self> {
        let roots = config.tls.roots.as_ref();
        // The plugin reads the proxy of the environment itself, with its exceptions.
        let own_proxy = config.proxy.as_ref().and_then(Proxy::own_url);
        exec.provide_cluster_info.then(|| Self {
            server: config.url.to_string().trim_end_matches('/').to_owned(),
            tls_server_name: config.tls.server_name.clone(),
            insecure_skip_tls_verify: config.tls.insecure,
            certificate_authority_data: roots.map(|roots| BASE64_STANDARD.encode(&roots.pem.text)),
            proxy_url: own_proxy.map(str::to_owned),
            config: exec.cluster_config.clone(),
        })
    }
}

/// The value of the variable.
pub(super) fn info(
    exec: &ExecConfig,
    cluster: Option<&Cluster>,
    interactive: bool,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Info {
        api_version: exec.version.as_str(),
        kind: "ExecCredential",
        spec: Spec {
            cluster,
            interactive,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_gets_the_clusters_own_proxy_with_its_password() {
        let exec = ExecConfig::new("plugin").provide_cluster_info(None);
        let proxy: Proxy = "http://me:hunter2@proxy:3128".parse().unwrap();
        let mut around = proxy.clone();
        // The plugin reads the proxy of the environment itself, with its exceptions.
        around.from_environment = true;
        let table = [
            (proxy, r#""proxy-url":"http://me:hunter2@proxy:3128""#, true),
            (around, "proxy-url", false),
        ];
        for (proxy, text, expected) in table {
            let config = Config::new("https://host".parse().unwrap()).with_proxy(proxy);
            let cluster = Cluster::new(&config, &exec);
            let info = info(&exec, cluster.as_ref(), false).unwrap();
            assert_eq!(info.contains(text), expected, "{info}");
        }
    }
}
