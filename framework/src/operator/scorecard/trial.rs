use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::events::v1::Event;
use pilothouse_sandbox::{RecordedRequest, Sandbox};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    Finding,
    probes::{MissingProbe, ProbeKind},
    restless::Restless,
};
use crate::{
    client::{Api, Client, Config, DeleteParams, Error, ListParams, RestMapper},
    operator::{Operator, OperatorError, Running, dev::InstallFiles},
    resource::{DynamicObject, Object},
};

/// A pause in the writes of this length means that the operator has nothing to do. Simulated Pods become ready sooner.
const QUIET: Duration = Duration::from_secs(3);
/// An operator that writes for longer does not come to rest.
const PATIENCE: Duration = Duration::from_secs(30);
/// The `User-Agent` of the trial's own requests.
const TRIAL: &str = "pilothouse-scorecard";

/// An operator that runs on an API server in this process, to see what it writes.
pub(in crate::operator) struct Trial {
    pub(super) sandbox: Sandbox,
    client: Client,
    pub(super) mapper: RestMapper,
    /// The objects to reconcile.
    pub(super) examples: Vec<DynamicObject>,
    /// What the operator has written since the start.
    written: BTreeSet<Written>,
    /// The objects of which it has written at least a part, such as the status.
    touched: BTreeSet<Written>,
    findings: Vec<Finding>,
}

/// An object that the operator wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Written {
    /// As `deployments.v1.apps`.
    resource: String,
    namespace: String,
    name: String,
}

impl Written {
    pub(super) fn of(write: &RecordedRequest) -> Self {
        Self {
            resource: format!("{}.{}.{}", write.resource, write.version, write.group),
            namespace: write.namespace.clone(),
            name: write.name.clone(),
        }
    }

    /// Whether it may be an object with containers of its own.
    fn makes_containers(&self) -> bool {
        let resources = ["deployments", "statefulsets", "daemonsets", "replicasets"];
        let mut in_apps = resources.into_iter().map(|one| format!("{one}.v1.apps"));
        self.resource == "pods.v1." || in_apps.any(|one| one == self.resource)
    }
}

impl Trial {
    /// Runs the operator with these objects, and stops it at the end.
    ///
    /// # Errors
    /// If the operator does not start, or if the API server does not take an object.
    pub(in crate::operator) async fn run(
        operator: Operator,
        objects: InstallFiles,
    ) -> Result<Vec<Finding>, OperatorError> {
        let sandbox = Sandbox::builder().simulator(true).build();
        let sandbox = sandbox.map_err(|error| OperatorError::Sandbox {
            port: 0,
            reason: error.to_string(),
        })?;
        // With the page, the operator records why it reconciles.
        let operator = operator.called_in(&sandbox).debug_page();
        let connected = |user_agent: &str| {
            let pipes = sandbox.clone();
            Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
                .connector(Arc::new(move || Ok(pipes.connect())))
                .user_agent(user_agent)
                .build()
        };
        let client = connected(TRIAL)?;
        let definitions = operator.definitions()?;
        let own = |object: &DynamicObject| {
            let group = object.types.api_version.split('/').next();
            let mut specs = definitions.iter().map(|one| &one.spec);
            specs.find(|spec| spec.names.kind == object.types.kind && Some(&*spec.group) == group)
        };
        let mut examples = Vec::new();
        for object in objects.objects() {
            let Some(spec) = own(object) else { continue };
            let mut example = object.clone();
            if spec.scope == "Namespaced" {
                let namespace = &mut example.metadata.namespace;
                namespace.get_or_insert_with(|| client.default_namespace().to_owned());
            }
            examples.push(example);
        }
        let mut findings = Vec::new();
        for definition in &definitions {
            let kind = &definition.spec.names.kind;
            if !examples.iter().any(|one| one.types.kind == *kind) {
                findings.push(Finding::new(
                    kind,
                    "no object of the kind was tried",
                    format!("write one into a file of the folder `example`, with a name, such as example/{}.yaml", kind.to_lowercase()),
                ));
            }
        }
        operator.install(&client).await?;
        let own = operator.own_parts(&definitions);
        objects.install(&client, TRIAL, &own, |_| Ok(())).await?;
        let running = operator.start(connected("operator")?).await?;
        running.synced().await;

        let mut trial = Self {
            mapper: RestMapper::new(&client),
            sandbox,
            client,
            examples,
            written: BTreeSet::new(),
            touched: BTreeSet::new(),
            findings,
        };
        let rests = trial.quiet(&running).await;
        let (counts, by_time) = (counted(&trial.writes()), trial.is_driven_by_time(&running));
        let repeated = trial.reconcile_again(&running).await?;
        if !rests {
            trial.endless(&counts, &repeated, by_time);
        }
        trial.repeats(&repeated);
        trial.look_at_failures().await?;
        trial.look_at_status().await?;
        trial.look_at_children().await?;
        trial.delete_all(&running).await?;
        let unused = running.unused_access().to_string();
        for line in unused.lines() {
            trial.findings.push(Finding::new(
                "wire",
                format!("the access is declared, and nothing has used it: {line}"),
                "remove it from `wire`, or add an example that needs it",
            ));
        }
        running.stop().await;
        trial.sandbox.shutdown().await;
        Ok(trial.findings)
    }

    /// The writes of the operator, without those that belong to no object of the user.
    pub(super) fn writes(&self) -> Vec<RecordedRequest> {
        let mut requests = self.sandbox.requests();
        requests.retain(|one| {
            one.method != "GET"
                && !one.query.contains("dryRun=")
                && !one.user_agent.starts_with(TRIAL)
                && !matches!(
                    &*one.resource,
                    "" | "events"
                        | "leases"
                        | "customresourcedefinitions"
                        // With webhooks the operator itself writes these, and no object owns them.
                        | "validatingwebhookconfigurations"
                        | "mutatingwebhookconfigurations"
                )
        });
        requests
    }

    /// Waits until the operator has nothing to do and writes nothing more. Returns false if that does not happen.
    async fn quiet(&mut self, running: &Running) -> bool {
        let begun = Instant::now();
        let (mut count, mut since) = (self.writes().len(), Instant::now());
        while since.elapsed() < QUIET {
            if begun.elapsed() > PATIENCE {
                break;
            }
            sleep(QUIET / 30).await;
            let now = self.writes().len();
            let report = running.debug_report();
            let mut controllers = report.controllers.iter();
            if now != count || controllers.any(|one| one.running + one.waiting > 0) {
                (count, since) = (now, Instant::now());
            }
        }
        self.remember();
        since.elapsed() >= QUIET
    }

    /// Notes the objects that the operator has written.
    pub(super) fn remember(&mut self) {
        let written = self.writes().into_iter();
        let objects =
            written.filter(|one| one.status < 300 && one.verb != "delete" && !one.name.is_empty());
        for write in objects {
            if write.subresource.is_empty() {
                self.written.insert(Written::of(&write));
            }
            self.touched.insert(Written::of(&write));
        }
    }

    /// The objects of which the operator has written a part, as they are now.
    pub(super) async fn contents(&self) -> Result<BTreeMap<Written, Value>, OperatorError> {
        let mut contents = BTreeMap::new();
        for written in &self.touched {
            if let Some(object) = self.api(written).await?.get_opt(&written.name).await? {
                let value = serde_json::to_value(object);
                let value = value.map_err(|error| OperatorError::Output(error.into()))?;
                contents.insert(written.clone(), value);
            }
        }
        Ok(contents)
    }

    /// Names the writes that do not end.
    fn endless(
        &mut self,
        counts: &[(String, usize)],
        repeated: &BTreeMap<String, Restless>,
        by_time: bool,
    ) {
        for (place, count) in counts.iter().filter(|(_, count)| *count > 3) {
            let why = repeated.get(place);
            if by_time && why.is_none() {
                continue;
            }
            let reason = why.map_or_else(String::new, |why| format!(": {}", why.problem()));
            let fix = why.map_or(
                "write the same object while nothing changes: no time, no random value, a fixed order of lists",
                Restless::fix,
            );
            self.findings.push(Finding::new(
                place,
                format!("`reconcile` has written it {count} times within {PATIENCE:?}, and does not come to rest{reason}"),
                fix,
            ));
        }
    }

    /// Names what another reconcile of the same objects writes.
    fn repeats(&mut self, repeated: &BTreeMap<String, Restless>) {
        for (place, why) in repeated {
            if self.findings.iter().any(|finding| finding.place == *place) {
                continue;
            }
            self.findings.push(Finding::new(
                place,
                format!(
                    "`reconcile` writes it again although nothing else has changed: {}",
                    why.problem()
                ),
                why.fix(),
            ));
        }
    }

    /// A reconcile that fails is an Event of its object.
    async fn look_at_failures(&mut self) -> Result<(), OperatorError> {
        let events = Api::<Event>::all(&self.client);
        for event in events.list_all(&ListParams::default()).await?.items {
            if event.type_.as_deref() != Some("Warning") {
                continue;
            }
            let about = event.regarding.unwrap_or_default();
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            self.findings.push(Finding::new(
                shown(
                    &text(&about.kind),
                    about.namespace.as_deref(),
                    &text(&about.name),
                ),
                format!("{}: {}", text(&event.reason), text(&event.note)),
                "mend it first: what comes after the failure was not tried",
            ));
        }
        Ok(())
    }

    /// A status has to say which generation it describes.
    async fn look_at_status(&mut self) -> Result<(), OperatorError> {
        for example in &self.examples {
            let api = self.mapper.api_for(example).await?;
            let Some(object) = api.get_opt(example.name()).await? else {
                continue;
            };
            let status = object.data.get("status").unwrap_or(&Value::Null);
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let mut observed = conditions
                .chain([status])
                .filter_map(|one| one["observedGeneration"].as_i64());
            let place = shown(
                &object.types.kind,
                object.metadata.namespace.as_deref(),
                object.name(),
            );
            let generation = object.metadata.generation;
            let finding = match status.as_object() {
                None => Finding::new(
                    place,
                    "it has no status after a reconcile",
                    "add a status with `conditions: Vec<Condition>`: the framework sets `Ready` there",
                ),
                Some(fields) if !observed.any(|observed| Some(observed) == generation) => {
                    Finding::new(
                        place,
                        "the status does not tell the generation that it describes",
                        match fields.contains_key("conditions") {
                            true => {
                                "make its conditions with `NewCondition::observed(&object)`, which sets `observedGeneration`"
                            }
                            false => {
                                "add `conditions: Vec<Condition>` to the status, or set `observedGeneration` to `metadata.generation`"
                            }
                        },
                    )
                }
                Some(_) => continue,
            };
            self.findings.push(finding);
        }
        Ok(())
    }

    /// Names the probes that the containers of the operator's children lack.
    async fn look_at_children(&mut self) -> Result<(), OperatorError> {
        for written in &self.written {
            if !written.makes_containers() {
                continue;
            }
            let Some(object) = self.api(written).await?.get_opt(&written.name).await? else {
                continue;
            };
            let (kind, spec) = (&object.types.kind, object.data.get("spec"));
            for missing in MissingProbe::all(kind, spec.unwrap_or(&Value::Null)) {
                let place = shown(kind, object.metadata.namespace.as_deref(), object.name());
                let finding = Finding::new(place, missing.to_string(), missing.fix());
                self.findings.push(match missing.kind {
                    ProbeKind::Readiness => finding,
                    // Not each program needs one.
                    ProbeKind::Liveness => finding.advice(),
                });
            }
        }
        Ok(())
    }

    /// Everything that the operator wrote has to go with the objects.
    async fn delete_all(&mut self, running: &Running) -> Result<(), OperatorError> {
        let mut apis = Vec::new();
        for example in &self.examples {
            let api = self.mapper.api_for(example).await?;
            if_there(api.delete(example.name(), &DeleteParams::default()).await)?;
            apis.push((api, example.clone()));
        }
        self.quiet(running).await;
        for (api, example) in apis {
            if let Some(object) = api.get_opt(example.name()).await? {
                let finalizers = object.metadata.finalizers.unwrap_or_default().join(", ");
                self.findings.push(Finding::new(
                    shown(&example.types.kind, example.metadata.namespace.as_deref(), example.name()),
                    format!("it is still there after its deletion, because of the finalizers {finalizers}"),
                    "let `cleanup` end although the world outside of the cluster is not there",
                ));
            }
        }
        for written in &self.written {
            if let Some(object) = self.api(written).await?.get_opt(&written.name).await?
                && object.metadata.deletion_timestamp.is_none()
            {
                self.findings.push(Finding::new(
                    shown(
                        &object.types.kind,
                        object.metadata.namespace.as_deref(),
                        object.name(),
                    ),
                    "the operator wrote it, and it is left after its owner is gone",
                    "write it with `cx.apply`, which sets the owner, or delete it in `cleanup`",
                ));
            }
        }
        Ok(())
    }

    async fn api(&self, written: &Written) -> Result<Api<DynamicObject>, OperatorError> {
        let namespace = Some(written.namespace.as_str()).filter(|name| !name.is_empty());
        Ok(self
            .mapper
            .api(written.resource.trim_end_matches('.'), namespace)
            .await?)
    }
}

/// The answer about an object that the operator may have deleted itself.
pub(super) fn if_there<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(error) if error.is_not_found() => Ok(None),
        answer => answer.map(Some),
    }
}

/// Each write with its number.
fn counted(writes: &[RecordedRequest]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for one in writes {
        *counts.entry(place(one)).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// Such as `patch /api/v1/namespaces/default/configmaps/home`.
pub(super) fn place(write: &RecordedRequest) -> String {
    format!("{} {}", write.verb, write.path)
}

fn shown(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
