use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use super::{
    Report,
    adopt_from::{LeaseName, unfinished},
    lease_holder::{LeaseHolder, lease_holder},
    objects,
    remains::Remains,
};
use crate::{
    client::{Api, Client, Error, KubeconfigOptions},
    controller::WrittenKinds,
    operator::OperatorError,
    resource::{ApiResource, DynamicObject, Object, ObjectMeta, PartialObject},
};

/// How often the objects are listed, for those that get a finalizer meanwhile.
const ROUNDS: usize = 3;

/// Removes the finalizers of an operator, and says how to remove the rest.
pub(super) struct Uninstall {
    pub(super) operator: String,
    pub(super) namespaces: BTreeSet<String>,
    /// What the controllers of the operator write.
    pub(super) written: Vec<WrittenKinds>,
    /// The labels of the objects of the operator itself.
    pub(super) labels: BTreeMap<String, String>,
    /// The namespace of the operator's pods.
    pub(super) operator_namespace: String,
    /// The Lease of the operator, if it elects a leader.
    pub(super) lease: Option<LeaseName>,
    /// Whether to work although the operator runs.
    pub(super) is_forced: bool,
    /// The Secret in which the operator keeps the certificates that it makes for webhooks.
    pub(super) certificates: Option<String>,
    /// The objects that `manifests` prints.
    pub(super) printed: Vec<Value>,
    /// The cluster of the `kubectl` commands.
    pub(super) kubeconfig: KubeconfigOptions,
}

/// How somebody agrees to the removal of finalizers.
pub(super) enum Consent {
    /// The flag `--yes`.
    Given,
    /// A person at a terminal. The function reads a line.
    Asked(Box<dyn FnOnce() -> io::Result<String> + Send>),
    /// Nobody can be asked.
    Missing,
}

/// The finalizers of the operator's controllers, by kind.
type Finalizers = BTreeMap<ApiResource, BTreeSet<String>>;

/// An object with finalizers of this operator.
type Found = (ApiResource, PartialObject);

impl Uninstall {
    /// # Errors
    /// [`OperatorError::StillRuns`] if the operator runs, [`OperatorError::NotConfirmed`] if nobody agreed,
    /// [`OperatorError::Unfinished`] if some objects could not be changed, [`OperatorError::NotServed`] if there may be objects that
    /// cannot be listed. The error of a request that failed.
    pub(super) async fn run(
        mut self,
        client: &Client,
        consent: Consent,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        let (finalizers, not_served) = served(client, self.finalizers()).await?;
        let found = self.find(client, &finalizers).await?;
        for resource in &not_served {
            report.not_served(resource)?;
        }
        objects::report_missing(client, &self.namespaces, report).await?;
        if found.is_empty() {
            report.line(format!(
                "No object{} has a finalizer of {}.",
                place(&self.namespaces),
                self.operator
            ))?;
        } else {
            let mut rows = vec![["KIND", "OBJECT", "FINALIZERS"].map(str::to_owned)];
            for (resource, object) in &found {
                let ours = ours(&finalizers[resource], &object.metadata).join(", ");
                rows.push([resource.qualified_plural(), object.key().to_string(), ours]);
            }
            report.table(&rows)?;
            if !self.is_forced {
                self.check_stopped(client, report).await?;
                self.check_webhooks(client).await?;
            }
            self.confirm(consent, report).await?;
            self.remove_all(client, &finalizers, found, report).await?;
        }
        let elsewhere = self.elsewhere(client, &finalizers).await?;
        let mut printed = std::mem::take(&mut self.printed);
        printed.retain(|one| {
            let name = one["metadata"]["name"].as_str().unwrap_or_default();
            let mut kept = elsewhere.keys();
            one["kind"] != "CustomResourceDefinition"
                || !kept.any(|resource| resource.qualified_plural() == name)
        });
        self.remains(client).report(printed, report).await?;
        for (resource, namespaces) in elsewhere {
            let (kind, operator) = (resource.qualified_plural(), &self.operator);
            let namespaces: Vec<String> = namespaces.into_iter().collect();
            let namespaces = namespaces.join(",");
            report.line(format!(
                "\nThe definition {kind} stays: objects in other namespaces have a finalizer of {operator}, which keeps them from being \
                 deleted. `{operator} uninstall --namespace {namespaces}` removes it"
            ))?;
        }
        Ok(())
    }

    /// The namespaces outside of the given ones that have objects with finalizers of this operator, by kind.
    async fn elsewhere(
        &self,
        client: &Client,
        finalizers: &Finalizers,
    ) -> Result<BTreeMap<ApiResource, BTreeSet<String>>, OperatorError> {
        let mut elsewhere = BTreeMap::new();
        let limited = finalizers
            .iter()
            .filter(|(resource, _)| resource.namespaced && !self.namespaces.is_empty());
        for (resource, names) in limited {
            let all = match objects::list(client, resource, &BTreeSet::new()).await {
                // A user without the right to list them is not told of them.
                Err(error) if error.is_forbidden() => continue,
                all => all?.unwrap_or_default(),
            };
            let has = all
                .iter()
                .filter(|object| !ours(names, &object.metadata).is_empty());
            let namespaces = has.filter_map(|object| object.namespace().map(str::to_owned));
            let namespaces: BTreeSet<String> = namespaces
                .filter(|one| !self.namespaces.contains(one))
                .collect();
            if !namespaces.is_empty() {
                elsewhere.insert(resource.clone(), namespaces);
            }
        }
        Ok(elsewhere)
    }

    fn remains<'a>(&'a self, client: &'a Client) -> Remains<'a> {
        Remains {
            client,
            kubeconfig: &self.kubeconfig,
            operator: &self.operator,
            labels: &self.labels,
            operator_namespace: &self.operator_namespace,
            lease: self.lease.as_ref(),
            certificates: self.certificates.as_deref(),
        }
    }

    /// Refuses to work while the API server calls the webhooks of the operator, which does not run: it would refuse the removal
    /// of finalizers, too.
    async fn check_webhooks(&self, client: &Client) -> Result<(), OperatorError> {
        let commands = self.remains(client).webhooks(&self.printed).await?;
        if commands.is_empty() {
            return Ok(());
        }
        Err(OperatorError::StillRuns {
            what: "the API server still calls the webhooks of the operator".into(),
            advice: format!(
                "without the operator they refuse changes: remove them first with `{}`, or use --force",
                commands.join(" && ")
            ),
        })
    }

    fn finalizers(&self) -> Finalizers {
        let mut finalizers = Finalizers::new();
        for written in &self.written {
            let names = written.finalizers.union(&written.retired).cloned();
            let all = finalizers.entry(written.reconciled.clone()).or_default();
            all.extend(names);
        }
        finalizers.retain(|_, names| !names.is_empty());
        finalizers
    }

    /// The objects with finalizers of this operator.
    async fn find(
        &self,
        client: &Client,
        finalizers: &Finalizers,
    ) -> Result<Vec<Found>, OperatorError> {
        let mut found = Vec::new();
        for (resource, names) in finalizers {
            let all = objects::list(client, resource, &self.namespaces).await?;
            // Its definition may have been deleted meanwhile.
            let all = all.unwrap_or_default().into_iter();
            let has = all.filter(|object| !ours(names, &object.metadata).is_empty());
            found.extend(has.map(|object| (resource.clone(), object)));
        }
        Ok(found)
    }

    /// Refuses to work while a process of the operator does: it would add the finalizers again.
    async fn check_stopped(
        &self,
        client: &Client,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        let (namespace, name) = (&*self.operator_namespace, &*self.operator);
        // As a dynamic object: a whole Deployment would be compiled into each operator for two numbers.
        let kind = ApiResource::of::<Deployment>();
        let deployments = Api::<DynamicObject>::of(client, kind, Some(namespace));
        let deployment = deployments.get_opt(name).await?;
        let has_pods = deployment.is_some_and(|deployment| {
            let replicas = |part: &str| deployment.data.get(part)?.get("replicas")?.as_i64();
            replicas("spec") != Some(0) || replicas("status").is_some_and(|present| present > 0)
        });
        if has_pods {
            return Err(OperatorError::StillRuns {
                what: format!("the Deployment {namespace}/{name} has pods"),
                advice: format!(
                    "they would add the finalizers again: stop them with `kubectl scale deployment {name} --namespace {namespace} \
                     --replicas 0`, or use --force"
                ),
            });
        }
        for (namespace, name) in self.leases(client) {
            let holder = lease_holder(client, namespace, name, report).await?;
            if let LeaseHolder::Process(holder) = holder {
                return Err(OperatorError::StillRuns {
                    what: format!("{holder} holds the Lease {namespace}/{name}"),
                    advice: "it would add the finalizers again: stop the operator, or use --force"
                        .into(),
                });
            }
        }
        Ok(())
    }

    /// Where the Lease may be: where `manifests` lets the pods run, or where `run` puts it outside of a cluster.
    fn leases<'a>(&'a self, client: &'a Client) -> Vec<(&'a str, &'a str)> {
        let Some(LeaseName { namespace, name }) = &self.lease else {
            return Vec::new();
        };
        let default = [&*self.operator_namespace, client.default_namespace()];
        let given = namespace.as_deref();
        let mut namespaces = given.map_or(default.to_vec(), |namespace| vec![namespace]);
        namespaces.dedup();
        namespaces
            .into_iter()
            .map(|namespace| (namespace, &**name))
            .collect()
    }

    async fn confirm(
        &self,
        consent: Consent,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        report.line(
            "\nNo cleanup runs for these objects any more: what they stand for outside of the cluster stays, and so do their \
             detached children.",
        )?;
        let agrees = match consent {
            Consent::Given => true,
            Consent::Missing => false,
            Consent::Asked(read) => {
                report.line("Remove these finalizers? Type `yes`:")?;
                // It blocks its thread until the line is there.
                let line = tokio::task::spawn_blocking(read).await;
                let line = line.map_err(io::Error::other).flatten();
                line.map_err(OperatorError::System)?.trim() == "yes"
            }
        };
        match agrees {
            true => Ok(()),
            false => Err(OperatorError::NotConfirmed {
                command: format!("{} uninstall --yes", self.operator),
            }),
        }
    }

    async fn remove_all(
        &self,
        client: &Client,
        finalizers: &Finalizers,
        mut found: Vec<Found>,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        let (mut problems, mut failed) = (Vec::new(), BTreeSet::new());
        let mut changed = 0;
        for _ in 0..ROUNDS {
            for (resource, object) in found {
                let place = (resource.clone(), object.key().to_string());
                match self
                    .remove(client, &resource, &finalizers[&resource], object)
                    .await
                {
                    Ok(true) => changed += 1,
                    Ok(false) => {}
                    Err(error) => {
                        problems.push(format!("{} {}: {error}", resource.kind, place.1));
                        failed.insert(place);
                    }
                }
            }
            found = self.find(client, finalizers).await?;
            found.retain(|(resource, object)| {
                !failed.contains(&(resource.clone(), object.key().to_string()))
            });
            if found.is_empty() {
                break;
            }
        }
        report.line(format!("\nChanged objects: {changed}"))?;
        if let Some((resource, object)) = found.first() {
            return Err(OperatorError::StillRuns {
                what: format!("{} {} got a finalizer again", resource.kind, object.key()),
                advice: "stop the operator, and run the command once more".into(),
            });
        }
        unfinished(problems)
    }

    /// Removes this operator's finalizers from an object. Returns `false` if it has none any more.
    async fn remove(
        &self,
        client: &Client,
        resource: &ApiResource,
        names: &BTreeSet<String>,
        object: PartialObject,
    ) -> Result<bool, Error> {
        let patch = async |object: &PartialObject| {
            if ours(names, &object.metadata).is_empty() {
                return Ok(None);
            }
            let present = object.metadata.finalizers.iter().flatten();
            let others: Vec<&String> = present.filter(|one| !names.contains(*one)).collect();
            Ok(Some(json!({"metadata": {
                "uid": object.uid(),
                "resourceVersion": object.resource_version(),
                "finalizers": others,
            }})))
        };
        objects::change(client, resource, &self.operator, object, patch).await
    }
}

/// The finalizers by the kinds in versions that the cluster serves, and the kinds that it does not serve at all.
async fn served(
    client: &Client,
    finalizers: Finalizers,
) -> Result<(Finalizers, Vec<ApiResource>), OperatorError> {
    let (mut by_kind, mut not_served) = (Finalizers::new(), Vec::new());
    for (resource, names) in finalizers {
        match objects::served(client, &resource).await? {
            // Two controllers may name two versions of one kind.
            Some(served) => by_kind.entry(served).or_default().extend(names),
            None => not_served.push(resource),
        }
    }
    Ok((by_kind, not_served))
}

/// Where was looked, if that is not everywhere.
fn place(namespaces: &BTreeSet<String>) -> String {
    let all: Vec<&str> = namespaces.iter().map(String::as_str).collect();
    match all[..] {
        [] => String::new(),
        [one] => format!(" in the namespace {one}"),
        _ => format!(" in the namespaces {}", all.join(", ")),
    }
}

/// The finalizers of an object that are among these.
fn ours<'a>(names: &BTreeSet<String>, object: &'a ObjectMeta) -> Vec<&'a str> {
    let present = object.finalizers.iter().flatten();
    let ours = present.filter(|one| names.contains(*one));
    ours.map(String::as_str).collect()
}
