use std::collections::BTreeSet;

use crate::{
    client::{Client, Config, RestMapper},
    crd::CustomResourceDefinition,
    resource::Object,
};

/// The names of the definitions for which kubectl needs the group, because the server has a kind with the same plural or singular in another group.
///
/// If the server does not tell its kinds, these are all names: with the group they are right in any case.
pub(in crate::operator) async fn ambiguous_names(
    config: Config,
    definitions: &[CustomResourceDefinition],
) -> BTreeSet<String> {
    let discovery = match Client::new(config) {
        Ok(client) => RestMapper::new(&client).discovery().await.ok(),
        Err(_) => None,
    };
    let is_ambiguous = |definition: &&CustomResourceDefinition| {
        let Some(discovery) = &discovery else {
            return true;
        };
        let spec = &definition.spec;
        let mut others = discovery.preferred_kinds();
        others.any(|other| {
            other.resource.group != spec.group
                && (other.resource.plural == spec.names.plural
                    || spec.names.singular.as_ref() == Some(&other.singular))
        })
    };
    let names = definitions.iter().filter(is_ambiguous).map(Object::name);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use pilothouse_sandbox::Sandbox;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_kind_whose_plural_or_singular_another_group_has_is_ambiguous() {
        let sandbox = Sandbox::builder().build().unwrap();
        let server = sandbox.serve_https((Ipv4Addr::LOCALHOST, 0).into()).await;
        let server = server.unwrap();
        let config = Config::from_yaml(&sandbox.kubeconfig(&server)).await;
        let config = config.unwrap();
        let definition = |group: &str, plural: &str, singular: &str| {
            let names = json!({"kind": "Any", "plural": plural, "singular": singular});
            serde_json::from_value(json!({
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": []},
            }))
            .unwrap()
        };
        let definitions = [
            definition("batch.example.com", "cronjobs", "other"),
            definition("example.com", "others", "pod"),
            definition("example.com", "gauges", "gauge"),
            // Its own kind is no other one.
            definition("apps", "deployments", "deployment"),
        ];
        let names = ambiguous_names(config, &definitions).await;
        let expected = ["cronjobs.batch.example.com", "others.example.com"];
        assert_eq!(Vec::from_iter(names), expected);

        // A server that does not answer.
        let gone = Config::new(http::Uri::from_static("http://127.0.0.1:1"));
        assert_eq!(ambiguous_names(gone, &definitions).await.len(), 4);
        sandbox.shutdown().await;
    }
}
