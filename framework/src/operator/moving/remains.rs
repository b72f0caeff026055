use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, StatefulSet},
    core::v1::{Namespace, PersistentVolumeClaim},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use serde_json::{Value, json};

use super::{Report, adopt_from::LeaseName};
use crate::{
    admission,
    client::{Api, Client, KubeconfigOptions, ListParams, RestMapper},
    operator::OperatorError,
    resource::{ApiResource, Object, PartialObject},
};

/// Finds what is left of an operator in the cluster, and prints the commands that remove it.
pub(super) struct Remains<'a> {
    pub(super) client: &'a Client,
    pub(super) kubeconfig: &'a KubeconfigOptions,
    pub(super) operator: &'a str,
    /// The labels of the objects of the operator itself.
    pub(super) labels: &'a BTreeMap<String, String>,
    pub(super) operator_namespace: &'a str,
    pub(super) lease: Option<&'a LeaseName>,
    /// The Secret in which the operator keeps the certificates that it makes for webhooks.
    pub(super) certificates: Option<&'a str>,
}

/// Objects that one command deletes.
#[derive(Debug, PartialEq, Eq)]
struct Deletion {
    /// The order of the commands.
    rank: Rank,
    /// Plural and group.
    kind: String,
    namespace: Option<String>,
    names: Vec<String>,
}

/// First the webhook configurations, because without pods they refuse requests, and the admission rules. Then the pods, so that nothing comes back. Last the
/// definitions, because the objects go with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Webhooks,
    Rules,
    Deployment,
    Other,
    Namespace,
    Definition,
}

impl Remains<'_> {
    /// Prints the commands for those of the `printed` objects that exist.
    pub(super) async fn report(
        &self,
        mut printed: Vec<Value>,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        // An object goes before those that it needs.
        printed.reverse();
        printed.extend(self.lease());
        printed.extend(self.certificates());
        for object in self.labelled().await? {
            if !printed.iter().any(|one| is_same(one, &object)) {
                printed.push(object);
            }
        }
        let kept = self.take_namespace(&mut printed).await?;
        let deletions = self.deletions(&printed).await?;
        if deletions.is_empty() {
            report.line("Nothing else of the operator is left.")?;
            return kept.map_or(Ok(()), |kept| report.line(kept));
        }
        report.line("\nThese commands remove the rest, in this order:\n")?;
        for deletion in &deletions {
            match deletion.rank {
                Rank::Rules | Rank::Deployment | Rank::Other => {}
                Rank::Webhooks => {
                    report.line("# Without the operator's pods, the webhooks refuse requests.")?;
                }
                Rank::Namespace => report.line("# This deletes everything in the namespace.")?,
                Rank::Definition => {
                    report.line("# Deleting a definition deletes all objects of its kind.")?;
                }
            }
            report.line(self.command(deletion))?;
        }
        match kept {
            Some(kept) => report.line(format!("\n{kept}")),
            None => Ok(()),
        }
    }

    /// The roles, admission rules and bindings with the labels of the operator. It may have been installed with flags that are not known now, for other
    /// namespaces, for example; and an older version may have had other rules.
    async fn labelled(&self) -> Result<Vec<Value>, OperatorError> {
        let kinds = [
            ApiResource::of::<RoleBinding>(),
            ApiResource::of::<Role>(),
            ApiResource::of::<ClusterRoleBinding>(),
            ApiResource::of::<ClusterRole>(),
        ]
        .into_iter()
        .chain(admission::kinds());
        let params = ListParams::default().labels(self.selector());
        let mut all = Vec::new();
        for kind in kinds {
            let api = Api::<PartialObject>::of(self.client, kind.clone(), None);
            let listed = match api.list_all(&params).await {
                // Then only those with known names are found.
                Err(error) if error.is_forbidden() => continue,
                // Older servers do not have all kinds of rules.
                Err(error) if error.is_not_found() => continue,
                listed => listed?,
            };
            let is_ours = |name: &str| {
                let rest = name.strip_prefix(self.operator);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
            };
            let ours = listed.items.iter().filter(|one| is_ours(one.name()));
            all.extend(ours.map(|one| {
                json!({
                    "apiVersion": kind.api_version(),
                    "kind": kind.kind,
                    "metadata": {"name": one.name(), "namespace": one.namespace()},
                })
            }));
        }
        Ok(all)
    }

    fn selector(&self) -> String {
        let pairs = self.labels.iter();
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(",")
    }

    /// Takes the namespace out of the `printed` objects unless it was made for this operator and others have nothing in it. Returns the
    /// reason, if the namespace exists.
    async fn take_namespace(
        &self,
        printed: &mut Vec<Value>,
    ) -> Result<Option<String>, OperatorError> {
        let name = self.operator_namespace;
        let is_namespace =
            |one: &Value| one["kind"] == "Namespace" && one["metadata"]["name"] == name;
        if !printed.iter().any(is_namespace) {
            return Ok(None);
        }
        let reason = self.reason_to_keep(name, printed).await?;
        if reason.is_some() {
            printed.retain(|one| !is_namespace(one));
        }
        Ok(reason.map(|reason| format!("The namespace {name} stays: {reason}.")))
    }

    async fn reason_to_keep(
        &self,
        namespace: &str,
        printed: &[Value],
    ) -> Result<Option<String>, OperatorError> {
        let kind = ApiResource::of::<Namespace>();
        let namespaces = Api::<PartialObject>::of(self.client, kind, None);
        match namespaces.get_opt(namespace).await {
            // `deletions` leaves it out.
            Ok(None) => return Ok(None),
            Ok(Some(found)) => {
                let present = found.metadata.labels.unwrap_or_default();
                if self
                    .labels
                    .iter()
                    .any(|(key, value)| present.get(key) != Some(value))
                {
                    let why = format!(
                        "it does not have the labels that `manifests` gives to the namespace of {}, so something else made it",
                        self.operator
                    );
                    return Ok(Some(why));
                }
            }
            Err(error) if error.is_forbidden() => {
                return Ok(Some("you may not read it".into()));
            }
            Err(error) => return Err(error.into()),
        }
        for kind in [
            ApiResource::of::<Deployment>(),
            ApiResource::of::<StatefulSet>(),
            ApiResource::of::<DaemonSet>(),
            ApiResource::of::<PersistentVolumeClaim>(),
        ] {
            let api = Api::<PartialObject>::of(self.client, kind.clone(), Some(namespace));
            let listed = match api.list_all(&ListParams::default()).await {
                Err(error) if error.is_forbidden() => {
                    return Ok(Some(format!("you may not list its {}", kind.plural)));
                }
                listed => listed?,
            };
            let is_own = |one: &PartialObject| {
                let object = json!({
                    "kind": kind.kind,
                    "metadata": {"name": one.name(), "namespace": namespace},
                });
                printed.iter().any(|own| is_same(own, &object))
            };
            if let Some(other) = listed.items.iter().find(|one| !is_own(one)) {
                return Ok(Some(format!("the {} {} is in it", kind.kind, other.name())));
            }
        }
        Ok(None)
    }

    /// The commands that delete those webhook configurations among the `printed` objects that the cluster has.
    pub(super) async fn webhooks(&self, printed: &[Value]) -> Result<Vec<String>, OperatorError> {
        let deletions = self.deletions(printed).await?;
        let webhooks = deletions.iter().filter(|one| one.rank == Rank::Webhooks);
        Ok(webhooks.map(|one| self.command(one)).collect())
    }

    /// What deletes those of the `printed` objects that exist, in the order of the commands.
    async fn deletions(&self, printed: &[Value]) -> Result<Vec<Deletion>, OperatorError> {
        let mapper = RestMapper::new(self.client);
        let mut deletions = Vec::<Deletion>::new();
        for object in printed {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
            let (version, kind) = (text("/apiVersion"), text("/kind"));
            let served = mapper
                .kind(version.unwrap_or_default(), kind.unwrap_or_default())
                .await;
            let resource = match served {
                Ok(served) => served.resource.clone(),
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(OperatorError::Discovery(error)),
            };
            let name = text("/metadata/name").unwrap_or_default();
            let namespace = text("/metadata/namespace").filter(|_| resource.namespaced);
            if !self.exists(&resource, namespace, name).await? {
                continue;
            }
            let kind = resource.qualified_plural();
            let namespace = namespace.map(str::to_owned);
            let same = deletions
                .iter_mut()
                .find(|one| one.kind == kind && one.namespace == namespace);
            match same {
                Some(same) => same.names.push(name.to_owned()),
                None => deletions.push(Deletion {
                    rank: rank(&resource),
                    kind,
                    namespace,
                    names: vec![name.to_owned()],
                }),
            }
        }
        deletions.sort_by_key(|one| one.rank);
        Ok(deletions)
    }

    /// The Lease of the operator, which no command prints.
    fn lease(&self) -> Option<Value> {
        let LeaseName { namespace, name } = self.lease?;
        Some(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace.as_deref().unwrap_or(self.operator_namespace)},
        }))
    }

    /// The Secret of the webhooks, which no command prints either.
    fn certificates(&self) -> Option<Value> {
        let name = self.certificates?;
        Some(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": self.operator_namespace},
        }))
    }

    /// Whether the object exists. If this person may not know, it counts as existing.
    async fn exists(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<bool, OperatorError> {
        let api = Api::<PartialObject>::of(self.client, resource.clone(), namespace);
        match api.get_opt(name).await {
            Ok(found) => Ok(found.is_some_and(|found| !found.is_deleting())),
            Err(error) if error.is_forbidden() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn command(&self, deletion: &Deletion) -> String {
        let mut command = vec!["kubectl".to_owned()];
        if let Some(path) = &self.kubeconfig.path {
            command.push(format!("--kubeconfig {}", quoted(&path.to_string_lossy())));
        }
        if let Some(context) = &self.kubeconfig.context {
            command.push(format!("--context {}", quoted(context)));
        }
        command.push(format!("delete {}", deletion.kind));
        command.extend(deletion.names.iter().map(|name| quoted(name)));
        if let Some(namespace) = &deletion.namespace {
            command.push(format!("--namespace {namespace}"));
        }
        command.join(" ")
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    let parts = ["/kind", "/metadata/name", "/metadata/namespace"];
    // A cluster-scoped object has no namespace.
    let value = |object: &Value, part| {
        object
            .pointer(part)
            .filter(|value| !value.is_null())
            .cloned()
    };
    parts
        .iter()
        .all(|part| value(one, part) == value(other, part))
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn rank(resource: &ApiResource) -> Rank {
    match (&*resource.group, &*resource.plural) {
        ("admissionregistration.k8s.io", _) if admission::is_rule_kind(&resource.kind) => {
            Rank::Rules
        }
        ("admissionregistration.k8s.io", _) => Rank::Webhooks,
        ("apps", "deployments") => Rank::Deployment,
        ("", "namespaces") => Rank::Namespace,
        ("apiextensions.k8s.io", "customresourcedefinitions") => Rank::Definition,
        _ => Rank::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_is_quoted_if_a_shell_would_read_it_otherwise() {
        for (word, expected) in [
            ("website", "website"),
            ("/home/ann/.kube/config", "/home/ann/.kube/config"),
            ("website:view", "'website:view'"),
            ("my cluster", "'my cluster'"),
            ("ann's", "'ann'\\''s'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
