use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Report,
    adoption::{Adoption, Change, Exchange, Part},
    lease_holder::{LeaseHolder, lease_holder},
    objects,
};
use crate::{
    client::{Client, Error},
    controller::WrittenKinds,
    operator::{OperatorError, settings::AdoptFlags},
    resource::{ApiResource, DynamicObject, Object, ObjectMeta, PartialObject},
};

/// Takes over the objects of an operator that this one replaces.
pub(super) struct AdoptFrom {
    pub(super) operator: String,
    pub(super) namespaces: BTreeSet<String>,
    /// What the controllers of this operator write.
    pub(super) written: Vec<WrittenKinds>,
    pub(super) flags: AdoptFlags,
}

/// A finalizer of the former operator, and the one of this operator that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct FinalizerExchange {
    pub(in crate::operator) former: String,
    /// `None` for the only finalizer of the controller.
    pub(in crate::operator) new: Option<String>,
}

/// The Lease of the former operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::operator) struct LeaseName {
    pub(in crate::operator) namespace: Option<String>,
    pub(in crate::operator) name: String,
}

/// What is taken over of the objects of a kind.
#[derive(Debug, Default)]
struct Takeover {
    /// The kinds of the owners, by group and kind, if this is a kind of children.
    owners: Option<BTreeSet<(String, String)>>,
    /// Whether a controller reconciles the kind and writes its status.
    status: bool,
    /// The finalizers of this operator on objects that it reconciles; `None` for a kind that it only writes.
    finalizers: Option<BTreeSet<String>>,
    exchanges: Vec<Exchange>,
}

/// The objects to change, and what else there is to say about all objects.
#[derive(Default)]
struct Plan {
    changes: Vec<(ApiResource, PartialObject, Change)>,
    /// Objects of a kind with fields of the former manager that are left out, because they do not belong to this operator.
    left_out: BTreeMap<ApiResource, usize>,
    /// What cannot be done.
    problems: Vec<String>,
    /// The field managers of all objects that were looked at.
    managers: BTreeSet<String>,
    /// The finalizers of reconciled objects that are neither of this operator nor replaced.
    finalizers: BTreeSet<String>,
    not_served: Vec<ApiResource>,
}

impl Takeover {
    /// The finalizers of an object that nothing of this operator will remove. Those of Kubernetes are left out.
    fn foreign<'a>(&'a self, object: &'a ObjectMeta) -> impl Iterator<Item = String> + 'a {
        let own = self.finalizers.iter();
        let present = own.flat_map(|own| {
            let present = object.finalizers.iter().flatten();
            present.filter(|one| !own.contains(*one))
        });
        let is_replaced = |one: &str| self.exchanges.iter().any(|(former, _)| former == one);
        // Those of Kubernetes that concern custom objects have no domain.
        let foreign = present.filter(move |one| one.contains('/') && !is_replaced(one));
        foreign.cloned()
    }
}

impl AdoptFrom {
    /// # Errors
    /// [`OperatorError::Adoption`] if the flags do not fit the operator. [`OperatorError::StillRuns`] if the former operator runs.
    /// [`OperatorError::Unfinished`] if some objects could not be changed. The error of a request that failed.
    pub(super) async fn run(
        &self,
        client: &Client,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        let kinds = self.kinds()?;
        self.check_lease(client, report).await?;
        let plan = self.plan(client, &kinds).await?;
        for resource in &plan.not_served {
            report.not_served(resource)?;
        }
        objects::report_missing(client, &self.namespaces, report).await?;
        if plan.changes.is_empty() {
            self.report_nothing(&plan, report)?;
            return unfinished(plan.problems);
        }
        let mut rows = vec![["KIND", "OBJECT", "CHANGE"].map(str::to_owned)];
        for (resource, object, change) in &plan.changes {
            let key = object.key().to_string();
            rows.push([resource.qualified_plural(), key, change.steps.join(", ")]);
        }
        report.table(&rows)?;
        self.report_left_out(&plan, report)?;
        report_finalizers(&plan, report)?;
        if !self.flags.is_confirmed {
            report.line(format!(
                "\nNothing was changed. With --yes the command makes these changes: the fields of `{}` become those of `{}`.",
                self.flags.manager, self.operator
            ))?;
            self.report_lease(client, report)?;
            return unfinished(plan.problems);
        }
        let mut problems = plan.problems;
        let mut changed = 0;
        for (resource, object, _) in plan.changes {
            let key = object.key();
            match self
                .change(client, &resource, &kinds[&resource], object)
                .await
            {
                Ok(true) => changed += 1,
                Ok(false) => {}
                Err(error) => problems.push(format!("{} {key}: {error}", resource.kind)),
            }
        }
        report.line(format!("\nChanged objects: {changed}"))?;
        self.report_lease(client, report)?;
        unfinished(problems)?;
        self.check_finished(client, &kinds).await
    }

    /// What is taken over, by kind.
    fn kinds(&self) -> Result<BTreeMap<ApiResource, Takeover>, OperatorError> {
        let mut kinds = BTreeMap::<ApiResource, Takeover>::new();
        for written in &self.written {
            let reconciled = &written.reconciled;
            for child in &written.children {
                let owners = &mut kinds.entry(child.clone()).or_default().owners;
                let owner = (reconciled.group.to_string(), reconciled.kind.to_string());
                owners.get_or_insert_default().insert(owner);
            }
            let takeover = kinds.entry(reconciled.clone()).or_default();
            takeover.status |= written.writes_status;
            let own = takeover.finalizers.get_or_insert_default();
            own.extend(written.finalizers.union(&written.retired).cloned());
        }
        for (resource, exchanges) in self.exchanges()? {
            kinds.entry(resource).or_default().exchanges = exchanges;
        }
        Ok(kinds)
    }

    /// The finalizers to replace, by kind.
    fn exchanges(&self) -> Result<BTreeMap<ApiResource, Vec<Exchange>>, OperatorError> {
        let mut declared = BTreeMap::<&ApiResource, BTreeSet<&String>>::new();
        for written in &self.written {
            let own = declared.entry(&written.reconciled).or_default();
            own.extend(&written.finalizers);
        }
        declared.retain(|_, own| !own.is_empty());
        let all: BTreeSet<&String> = declared.values().flatten().copied().collect();
        let mut exchanges = BTreeMap::<ApiResource, Vec<Exchange>>::new();
        for FinalizerExchange { former, new } in &self.flags.finalizers {
            if all.contains(former) {
                return Err(refused(format!(
                    "{former} is a finalizer of this operator already: leave out `--finalizer {former}`"
                )));
            }
            if all.is_empty() {
                return Err(refused(format!(
                    "no controller has a finalizer that can replace {former}: declare one by `Controller::finalizer`, or let \
                     `Controller::finalizer_retired` remove the former one"
                )));
            }
            if let Some(new) = new.as_ref().filter(|new| !all.contains(new)) {
                return Err(refused(format!(
                    "no controller declares the finalizer {new}: write one of {}",
                    list(&all)
                )));
            }
            for (resource, own) in &declared {
                let new = match new {
                    Some(new) if own.contains(new) => new,
                    Some(_) => continue,
                    None if own.len() > 1 => {
                        return Err(refused(format!(
                            "the controllers of {} have several finalizers: write `--finalizer {former}=NEW` with one of {}",
                            resource.qualified_plural(),
                            list(own)
                        )));
                    }
                    None => own.first().copied().unwrap_or(former),
                };
                let exchange = (former.clone(), new.clone());
                let all = exchanges.entry((*resource).clone()).or_default();
                all.push(exchange);
            }
        }
        Ok(exchanges)
    }

    /// Refuses to work while the former operator does.
    async fn check_lease(
        &self,
        client: &Client,
        report: &mut Report<'_>,
    ) -> Result<(), OperatorError> {
        let Some(LeaseName { namespace, name }) = &self.flags.lease else {
            return report.line(
                "note: without `--lease NAMESPACE/NAME` this does not notice whether the former operator runs: stop it first",
            );
        };
        let namespace = namespace.as_deref().unwrap_or(client.default_namespace());
        match lease_holder(client, namespace, name, report).await? {
            LeaseHolder::Nobody => Ok(()),
            LeaseHolder::NoLease => Err(refused(format!(
                "there is no Lease {namespace}/{name}: correct `--lease NAMESPACE/NAME`, or leave it out if the former operator is gone"
            ))),
            LeaseHolder::Process(holder) => Err(OperatorError::StillRuns {
                what: format!("{holder} holds the Lease {namespace}/{name}"),
                advice: "it would write the fields again: stop the former operator first".into(),
            }),
        }
    }

    /// Says how the Lease is taken over, too: its name is a setting of the operator.
    fn report_lease(&self, client: &Client, report: &mut Report<'_>) -> Result<(), OperatorError> {
        let Some(LeaseName { namespace, name }) = &self.flags.lease else {
            return Ok(());
        };
        let namespace = namespace.as_deref().unwrap_or(client.default_namespace());
        report.line(format!(
            "Run {} with `--lease-name {name} --lease-namespace {namespace}`: then both operators never work at the same time.",
            self.operator
        ))
    }

    async fn plan(
        &self,
        client: &Client,
        kinds: &BTreeMap<ApiResource, Takeover>,
    ) -> Result<Plan, OperatorError> {
        let mut plan = Plan::default();
        for (resource, takeover) in kinds {
            let Some(all) = objects::list(client, resource, &self.namespaces).await? else {
                plan.not_served.push(resource.clone());
                continue;
            };
            for object in all {
                let managers = object.metadata.managed_fields.iter().flatten();
                plan.managers
                    .extend(managers.filter_map(|entry| entry.manager.clone()));
                plan.finalizers.extend(takeover.foreign(&object.metadata));
                let part = self.part(takeover, &object.metadata);
                if part == Part::Nothing
                    && takeover.owners.is_some()
                    && self.adoption().finds_fields(&object.metadata)
                {
                    *plan.left_out.entry(resource.clone()).or_default() += 1;
                }
                let Some((object, change)) =
                    self.change_of(client, resource, takeover, object).await?
                else {
                    continue;
                };
                for problem in &change.problems {
                    let key = object.key();
                    plan.problems
                        .push(format!("{} {key}: {problem}", resource.kind));
                }
                if !change.is_empty() {
                    plan.changes.push((resource.clone(), object, change));
                }
            }
        }
        Ok(plan)
    }

    /// The object with its change. Reads the whole object if its entries have several API versions. `None` if it is gone.
    async fn change_of(
        &self,
        client: &Client,
        resource: &ApiResource,
        takeover: &Takeover,
        object: PartialObject,
    ) -> Result<Option<(PartialObject, Change)>, Error> {
        let adoption = self.adoption();
        let part = self.part(takeover, &object.metadata);
        let (mut object, mut whole) = (object, Value::Null);
        if adoption.has_several_versions(&object.metadata, part) {
            let api = objects::api_of::<DynamicObject>(client, resource, &object);
            let found = api.with_managed_fields().get_opt(object.name()).await?;
            let Some(found) = found.filter(|found| found.uid() == object.uid()) else {
                return Ok(None);
            };
            whole = serde_json::to_value(&found).unwrap_or_default();
            object = PartialObject::new(found.metadata);
        }
        let change = adoption.change(
            &object.metadata,
            part,
            &takeover.exchanges,
            &resource.api_version(),
            &whole,
        );
        Ok(Some((object, change)))
    }

    /// Which part of an object this operator writes.
    fn part(&self, takeover: &Takeover, object: &ObjectMeta) -> Part {
        let is_child = takeover.owners.as_ref().is_some_and(|owners| {
            let references = object.owner_references.iter().flatten();
            let is_owned = references.into_iter().any(|one| {
                let group = one.api_version.rsplit_once('/');
                let group = group.map_or("", |(group, _)| group);
                owners.contains(&(group.to_owned(), one.kind.clone()))
            });
            let labels = object.labels.clone().unwrap_or_default();
            let selector = self.flags.selector.as_ref();
            let is_selected = selector.is_some_and(|selector| selector.matches(&labels));
            is_owned || is_selected || self.adoption().has_applied(object)
        });
        match (is_child, takeover.status) {
            (true, _) => Part::Whole,
            (false, true) => Part::Status,
            (false, false) => Part::Nothing,
        }
    }

    /// Changes an object. Returns `false` if there is nothing to change any more.
    async fn change(
        &self,
        client: &Client,
        resource: &ApiResource,
        takeover: &Takeover,
        object: PartialObject,
    ) -> Result<bool, Error> {
        let patch = async |object: &PartialObject| {
            let found = self.change_of(client, resource, takeover, object.clone());
            let found = found.await?.filter(|(_, change)| !change.is_empty());
            Ok(found.map(|(object, change)| change.patch(&object.metadata)))
        };
        objects::change(client, resource, &self.operator, object, patch).await
    }

    /// Looks once more: a former operator that still runs has written its fields again.
    async fn check_finished(
        &self,
        client: &Client,
        kinds: &BTreeMap<ApiResource, Takeover>,
    ) -> Result<(), OperatorError> {
        let plan = self.plan(client, kinds).await?;
        match plan.changes.first() {
            None => Ok(()),
            Some((resource, object, _)) => Err(OperatorError::StillRuns {
                what: format!(
                    "`{}` has written {} {} again",
                    self.flags.manager,
                    resource.kind,
                    object.key()
                ),
                advice: "stop the former operator, and run the command once more".into(),
            }),
        }
    }

    fn report_nothing(&self, plan: &Plan, report: &mut Report<'_>) -> Result<(), OperatorError> {
        let manager = &self.flags.manager;
        let keeps = plan.managers.contains(manager);
        report.line(format!(
            "Nothing to do: no object of this operator has fields of `{manager}`{}{}.",
            match keeps {
                true => " that this operator writes",
                false => "",
            },
            match self.flags.finalizers.is_empty() {
                true => "",
                false => ", and none has a finalizer to replace",
            }
        ))?;
        let managers: BTreeSet<&String> = plan.managers.iter().collect();
        if !managers.is_empty() {
            report.line(format!(
                "The field managers of these objects are {}.",
                list(&managers)
            ))?;
        }
        self.report_left_out(plan, report)?;
        report_finalizers(plan, report)
    }

    fn report_left_out(&self, plan: &Plan, report: &mut Report<'_>) -> Result<(), OperatorError> {
        for (resource, count) in &plan.left_out {
            report.line(format!(
                "note: {count} more {} have fields of `{}`, but no object of this operator owns them: `--selector` takes over those \
                 with certain labels",
                resource.qualified_plural(),
                self.flags.manager
            ))?;
        }
        Ok(())
    }

    fn adoption(&self) -> Adoption<'_> {
        Adoption {
            manager: &self.flags.manager,
            operator: &self.operator,
        }
    }
}

/// Names finalizers that may be those of the former operator: nobody would remove them any more.
fn report_finalizers(plan: &Plan, report: &mut Report<'_>) -> Result<(), OperatorError> {
    let finalizers: BTreeSet<&String> = plan.finalizers.iter().collect();
    if finalizers.is_empty() {
        return Ok(());
    }
    report.line(format!(
        "note: objects also have the finalizers {}: add `--finalizer NAME` for each that the former operator has set, because nothing else \
         removes it",
        list(&finalizers)
    ))
}

fn list(names: &BTreeSet<&String>) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(", ")
}

fn refused(problem: String) -> OperatorError {
    OperatorError::Adoption(problem)
}

pub(super) fn unfinished(problems: Vec<String>) -> Result<(), OperatorError> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(OperatorError::Unfinished(problems)),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    /// The exchanges if two controllers of one kind have a finalizer each.
    fn exchanges(new: Option<&str>) -> Result<Vec<Exchange>, String> {
        let resource = ApiResource::of::<ConfigMap>();
        let controller = |finalizer: &str| WrittenKinds {
            reconciled: resource.clone(),
            writes_status: false,
            finalizers: [finalizer.to_owned()].into(),
            retired: BTreeSet::new(),
            children: BTreeSet::new(),
        };
        let adopt_from = AdoptFrom {
            operator: "new".into(),
            namespaces: BTreeSet::new(),
            written: vec![controller("example.com/a"), controller("example.com/b")],
            flags: AdoptFlags {
                manager: "manager".into(),
                finalizers: vec![FinalizerExchange {
                    former: "example.com/former".into(),
                    new: new.map(str::to_owned),
                }],
                lease: None,
                selector: None,
                is_confirmed: false,
            },
        };
        let mut found = adopt_from.exchanges().map_err(|error| error.to_string())?;
        Ok(found.remove(&resource).unwrap_or_default())
    }

    #[test]
    fn of_several_finalizers_of_a_kind_the_flag_names_the_new_one() {
        let exchange = ("example.com/former".to_owned(), "example.com/b".to_owned());
        assert_eq!(exchanges(Some("example.com/b")), Ok(vec![exchange]));
        let expected = "cannot adopt: the controllers of configmaps have several finalizers: write `--finalizer example.com/former=NEW` \
                        with one of example.com/a, example.com/b";
        assert_eq!(exchanges(None), Err(expected.to_owned()));
    }
}
