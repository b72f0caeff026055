use super::{Operator, OperatorError, command_line::ManifestsOptions, printed};
use crate::manifests::{Endpoint, Installation, Manifests, Program};

/// A change of the printed manifests.
pub(super) type ManifestChange = Box<dyn FnOnce(&mut Manifests) + Send>;

impl Operator {
    /// Changes what the command `manifests` prints, for all that the flags cannot say. Several calls add up.
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
    pub fn manifests(mut self, change: impl FnOnce(&mut Manifests) + Send + 'static) -> Self {
        self.manifest_changes.push(Box::new(change));
        self
    }

    /// The output of the command `manifests`.
    pub(super) fn manifests_as_yaml(
        mut self,
        options: ManifestsOptions,
    ) -> Result<String, OperatorError> {
        let run = &options.roles.run;
        let serving = &run.serving.serving;
        #[cfg(not(feature = "self-signed"))]
        if serving.is_self_signed() {
            return Err(OperatorError::NoSelfSigned);
        }
        let program = Program {
            image: options.image,
            args: options.args,
            replicas: options.replicas,
            elects: run.election.is_some(),
            endpoint: run.metrics_address.map(|address| Endpoint {
                port: address.port,
                is_secure: serving.is_secure(),
                is_self_signed: serving.is_self_signed(),
                is_authorized: serving.is_authorized(),
            }),
        };
        let installation = Installation::new(&self.name)?
            .in_namespace(&options.roles.namespace)
            .works_in(&run.namespaces);
        let definitions = self.checked_definitions()?;
        let changes = std::mem::take(&mut self.manifest_changes);
        let roles = self.roles_with(options.roles)?;
        let mut manifests = Manifests::new(installation, &program, definitions, roles);
        if options.service_monitor {
            manifests = manifests.with_service_monitor(program.endpoint.as_ref());
        }
        if options.prometheus_rule {
            manifests = manifests.with_prometheus_rule();
        }
        for change in changes {
            change(&mut manifests);
        }
        printed::yaml(manifests.to_json())
    }
}
