use std::path::Path;

use k8s_openapi::{
    api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};

use serde_json::Value;

use super::{
    Operator, OperatorError, command_line::ManifestsOptions, printed, rbac::RolesSource, settings,
};
use crate::{
    admission::AdmissionRule,
    manifests::{Chart, Endpoint, Files, Installation, Manifests, Program, WebhookPort, kustomize},
    webhook::{self, Target, WebhookOptions},
};

/// The settings of `run` on which the printed objects depend.
const FIXED_SETTINGS: [&str; 10] = [
    "namespace",
    "leader-elect",
    "lease-name",
    "lease-namespace",
    "metrics-address",
    "metrics-secure",
    "metrics-cert-path",
    "metrics-auth",
    "debug-page",
    // The file could have any of the others.
    "config",
];
/// Those that only an operator with webhooks has.
const FIXED_SETTINGS_OF_WEBHOOKS: [&str; 3] =
    ["webhook-address", "webhook-certificate-dir", "webhook-url"];

/// A change of the printed manifests.
pub(super) type ManifestChange = Box<dyn Fn(&mut Manifests) + Send>;

impl Operator {
    /// Changes what the command `manifests` prints, for all that the flags cannot say. Several calls add up. The
    /// function is called once for each variant of an output, such as an overlay.
    ///
    /// ```
    /// use pilothouse::{k8s::api::core::v1::EnvVar, prelude::*};
    ///
    /// let operator = Operator::new("website").manifests(|manifests| {
    ///     let zone = EnvVar { name: "ZONE".into(), value: Some("eu".into()), ..Default::default() };
    ///     manifests.container().env.get_or_insert_default().push(zone);
    ///     manifests.pod_disruption_budget = None;
    /// });
    /// # drop(operator);
    /// ```
    pub fn manifests(mut self, change: impl Fn(&mut Manifests) + Send + 'static) -> Self {
        self.manifest_changes.push(Box::new(change));
        self
    }

    /// The objects that the command `manifests` prints, in their variants.
    pub(super) fn manifests_source(
        mut self,
        options: ManifestsOptions,
    ) -> Result<ManifestsSource, OperatorError> {
        let run = &options.roles.run;
        let serving = &run.serving.serving;
        #[cfg(not(feature = "self-signed"))]
        if serving.is_self_signed() {
            return Err(OperatorError::NoSelfSigned);
        }
        #[cfg(not(feature = "self-signed"))]
        if run
            .webhooks
            .as_ref()
            .is_some_and(|serving| serving.certificates.is_none())
        {
            let problem = webhook::WebhookError::NoSelfSigned;
            return Err(OperatorError::Webhooks(problem.to_string()));
        }
        let text = |folder: &Path| folder.display().to_string();
        let program = Program {
            image: options.image,
            args: options.args,
            replicas: options.replicas,
            elects: run.election.is_some(),
            endpoint: run.metrics_address.map(|address| Endpoint {
                port: address.port,
                is_secure: serving.is_secure(),
                is_self_signed: serving.is_self_signed(),
                certificate: serving.certificate_folder().map(text),
                is_authorized: serving.is_authorized(),
            }),
            webhooks: run.webhooks.as_ref().map(|serving| WebhookPort {
                port: serving.address.port,
                certificate: serving.certificates.as_deref().map(text),
            }),
        };
        // Checks the name before all else.
        Installation::new(&self.name)?;
        self.webhook_serving = run.webhooks.clone().unwrap_or_default();
        let webhooks = self.webhook_options("");
        let definitions = self.checked_definitions()?;
        let rules = self.checked_rules()?;
        let changes = std::mem::take(&mut self.manifest_changes);
        let version = self.version.clone();
        Ok(ManifestsSource {
            program,
            version,
            monitoring: Monitoring {
                service_monitor: options.service_monitor,
                pod_monitor: options.pod_monitor,
                prometheus_rule: options.prometheus_rule,
            },
            creates_namespace: options.creates_namespace,
            is_limited_by_itself: !self.namespaces.is_empty(),
            definitions,
            rules,
            webhooks,
            changes,
            roles: self.roles_with(options.roles)?,
        })
    }
}

/// The objects for monitoring that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Monitoring {
    service_monitor: bool,
    pod_monitor: bool,
    prometheus_rule: bool,
}

impl Monitoring {
    const NONE: Self = Self {
        service_monitor: false,
        pod_monitor: false,
        prometheus_rule: false,
    };

    /// What a folder offers for monitoring: what was asked for, or everything.
    fn offered(self) -> Self {
        match self {
            Self::NONE => Self {
                service_monitor: true,
                pod_monitor: false,
                prometheus_rule: true,
            },
            some => some,
        }
    }
}

/// Makes the objects of an operator, as often as an output needs variants of them.
pub(super) struct ManifestsSource {
    program: Program,
    version: Option<String>,
    monitoring: Monitoring,
    /// Whether the namespace of the pods is printed although it may be shared.
    creates_namespace: bool,
    /// Whether the program is limited to namespaces without a flag.
    is_limited_by_itself: bool,
    definitions: Vec<CustomResourceDefinition>,
    rules: Vec<AdmissionRule>,
    /// The webhooks. Their namespace is set when the objects are made.
    webhooks: Option<WebhookOptions>,
    changes: Vec<ManifestChange>,
    pub(super) roles: RolesSource,
}

impl ManifestsSource {
    /// What is not safe with these settings.
    pub(super) fn warning(&self) -> Option<&'static str> {
        let endpoint = self.program.endpoint.as_ref()?;
        (endpoint.is_authorized && !endpoint.is_secure).then_some(
            "metrics require a bearer token, but plain HTTP sends it unencrypted: add --metrics-secure",
        )
    }

    /// What the user should know about the webhooks.
    pub(super) fn notes(&self) -> Vec<String> {
        let Installation {
            namespace,
            namespaces,
            ..
        } = &self.roles.installation;
        let webhooks = self.webhooks.iter().flat_map(|options| &options.webhooks);
        let webhooks: Vec<_> = webhooks.cloned().collect();
        Operator::webhook_notes(&webhooks, namespace, namespaces)
    }

    /// The output of the command `manifests` as one text.
    pub(super) fn to_yaml(&self) -> Result<String, OperatorError> {
        printed::yaml(Ok(self.objects()?))
    }

    /// The objects of the command `manifests`.
    pub(super) fn objects(&self) -> Result<Vec<Value>, OperatorError> {
        let installation = self.roles.installation.clone();
        let all = self.build(installation, &self.program, self.monitoring);
        all.to_json().map_err(unwritten)
    }

    /// The files of a folder for Kustomize.
    pub(super) fn kustomize(&self) -> Result<Files, OperatorError> {
        let installation = &self.roles.installation;
        let program = &self.program;
        let objects = |variant: Manifests| variant.to_json();
        let base = objects(self.build(installation.clone(), program, Monitoring::NONE));
        let mut components = Vec::new();
        if installation.namespaces.is_empty() {
            let own = installation.clone().works_in([&installation.namespace]);
            let mut limited = self.build(own, program, Monitoring::NONE);
            // The namespace of the pods may be changed by Kustomize, so the container reads it when it starts.
            let name = settings::variable(&installation.name, "namespace");
            let namespace = EnvVar {
                name,
                value_from: Some(EnvVarSource {
                    field_ref: Some(ObjectFieldSelector {
                        field_path: "metadata.namespace".into(),
                        ..ObjectFieldSelector::default()
                    }),
                    ..EnvVarSource::default()
                }),
                ..EnvVar::default()
            };
            let env = limited.container().env.get_or_insert_default();
            env.push(namespace);
            components.push((kustomize::ONE_NAMESPACE, limited));
        }
        if program.endpoint.is_some() {
            let monitored = self.build(installation.clone(), program, self.monitoring.offered());
            components.push((kustomize::MONITORING, monitored));
        }
        let mut variants = Vec::new();
        for (name, variant) in components {
            variants.push((name, objects(variant).map_err(unwritten)?));
        }
        let base = base.map_err(unwritten)?;
        kustomize::files(&installation.name, &base, &variants).map_err(unwritten)
    }

    /// The files of a Helm chart. The source has to be made with [`Chart::NAMESPACE`].
    pub(super) fn helm(&self) -> Result<Files, OperatorError> {
        let given = &self.roles.installation;
        let of_webhooks = self
            .webhooks
            .iter()
            .flat_map(|_| FIXED_SETTINGS_OF_WEBHOOKS);
        let fixed_settings = FIXED_SETTINGS.into_iter().chain(of_webhooks);
        let variable = |setting| (setting, settings::variable(&given.name, setting));
        let fixed_settings: Vec<_> = fixed_settings.map(variable).collect();
        let names: Vec<&str> = fixed_settings.iter().map(|(name, _)| *name).collect();
        let (mut args, extra_args) = divided(&self.program.args, &names);
        args.retain(|arg| !arg.starts_with("--namespace="));
        let program = Program {
            args,
            ..self.program.clone()
        };
        let chart = Chart {
            name: &given.name,
            version: self.version.as_deref(),
            image: &self.program.image,
            replicas: self.program.replicas,
            elects: program.elects,
            namespaces: &given.namespaces,
            extra_args: &extra_args,
            is_limited_by_itself: self.is_limited_by_itself,
            monitoring: program
                .endpoint
                .as_ref()
                .map(|_| self.monitoring != Monitoring::NONE),
            fixed_settings: &fixed_settings,
        };
        let files = chart.files(&|namespaces, replicas, monitoring| {
            let installation = given.clone().works_in(namespaces.iter());
            let program = Program {
                replicas,
                ..program.clone()
            };
            let monitoring = match monitoring {
                true => self.monitoring.offered(),
                false => Monitoring::NONE,
            };
            self.build(installation, &program, monitoring).to_json()
        });
        files.map_err(unwritten)
    }

    fn build(
        &self,
        installation: Installation,
        program: &Program,
        monitoring: Monitoring,
    ) -> Manifests {
        let roles = self.roles.roles(&installation);
        let mut definitions = self.definitions.clone();
        if let Some(webhooks) = &self.webhooks
            && webhooks.url.is_none()
        {
            let target = Target::service_of(&installation.name, &installation.namespace);
            webhook::set_target(&mut definitions, &target);
        }
        let mut manifests = Manifests::new(installation, program, definitions, roles);
        if self.creates_namespace {
            manifests = manifests.with_namespace();
        }
        if let Some(webhooks) = &self.webhooks {
            manifests = manifests.with_webhooks(webhooks);
        }
        manifests = manifests.with_rules(&self.rules);
        if monitoring.service_monitor {
            manifests = manifests.with_service_monitor(program.endpoint.as_ref());
        }
        if monitoring.pod_monitor {
            manifests = manifests.with_pod_monitor(program.endpoint.as_ref());
        }
        if monitoring.prometheus_rule {
            manifests = manifests.with_prometheus_rule();
        }
        for change in &self.changes {
            change(&mut manifests);
        }
        manifests
    }
}

/// The arguments of a container: the subcommand with the flags on which the printed objects depend, and the others, which a chart may
/// replace.
fn divided(args: &[String], fixed_settings: &[&str]) -> (Vec<String>, Vec<String>) {
    /// They have a value only after `=`.
    const SWITCHES: [&str; 4] = [
        "leader-elect",
        "metrics-secure",
        "metrics-auth",
        "debug-page",
    ];
    let (subcommand, flags) = args.split_at(args.len().min(1));
    let (mut fixed, mut others) = (subcommand.to_vec(), Vec::new());
    let mut is_value_of_fixed = false;
    for arg in flags {
        let name = match arg.strip_prefix("--") {
            Some(flag) => Some(flag.split('=').next().unwrap_or(flag)),
            None if arg.starts_with("-n") => Some("namespace"),
            None => None,
        };
        let is_fixed = name.is_some_and(|name| fixed_settings.contains(&name));
        match is_fixed || (is_value_of_fixed && name.is_none()) {
            true => fixed.push(arg.clone()),
            false => others.push(arg.clone()),
        }
        let takes_the_next =
            !arg.contains('=') && !name.is_some_and(|name| SWITCHES.contains(&name));
        is_value_of_fixed = is_fixed && takes_the_next;
    }
    (fixed, others)
}

fn unwritten(error: serde_json::Error) -> OperatorError {
    OperatorError::Output(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_on_which_no_object_depends_can_be_replaced() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let line = "run --metrics-secure --log=debug --metrics-address :9443 --image nginx --leader-elect=false --verbose";
        let (fixed, others) = divided(&words(line), &FIXED_SETTINGS);
        let expected = "run --metrics-secure --metrics-address :9443 --leader-elect=false";
        assert_eq!(fixed, words(expected));
        assert_eq!(others, words("--log=debug --image nginx --verbose"));
    }
}
