use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{Operator, OperatorError, command_line::RolesOptions, leadership, printed};
use crate::{
    controller::WrittenKinds,
    manifests::{Installation, InvalidName, Roles},
    resource::Access,
    server::Reviewer,
};

impl Operator {
    /// The ServiceAccount, the least roles and the bindings of this operator, as the command `rbac` prints them. The account and
    /// the operator's pods are in `namespace`.
    ///
    /// No function that [builds a reconciler](Self::controller_with) is called; [`wiring`](Self::wiring) declares what is needed
    /// instead. The election and the reviews for metrics count if they are set in the program.
    ///
    /// # Errors
    /// [`OperatorError::Wiring`] if the access of a controller is not declared, [`OperatorError::Name`] if the operator has a
    /// name that its objects cannot have.
    pub fn roles(self, namespace: impl Into<String>) -> Result<Roles, OperatorError> {
        let source = self.roles_source(namespace)?;
        Ok(source.roles(&source.installation))
    }

    fn roles_source(self, namespace: impl Into<String>) -> Result<RolesSource, OperatorError> {
        let installation = Installation::new(&self.name)?
            .in_namespace(namespace)
            .works_in(&self.namespaces);
        let definitions = self.registered.iter().filter_map(|one| one.definition());
        let definitions = definitions.collect::<Result<_, _>>()?;
        let webhooks = self.webhook_options(&installation.namespace);
        let declared = self.access.with_controllers(self.registered)?;
        let mut access = declared.access;
        if let Some(election) = &self.election {
            access = access.and(leadership::access(election, &installation.namespace));
        }
        if let Some(webhooks) = webhooks {
            access = access.and(webhooks.access());
        }
        let is_authorized = self.metrics_address.is_some() && self.serving.is_authorized();
        if is_authorized {
            access = access.and(Reviewer::access());
        }
        Ok(RolesSource {
            installation,
            access,
            definitions,
            is_authorized,
            is_debugged: is_authorized && self.debug_page,
            written: declared.written,
            has_unknown_kind: declared.has_unknown_kind,
        })
    }

    /// The output of the command `rbac`.
    pub(super) fn roles_as_yaml(self, options: RolesOptions) -> Result<String, OperatorError> {
        let source = self.roles_with(options)?;
        printed::yaml(source.roles(&source.installation).to_json())
    }

    /// The roles of an operator that runs with these options.
    pub(super) fn roles_with(self, options: RolesOptions) -> Result<RolesSource, OperatorError> {
        let mut operator = self.with_options(options.run);
        if options.installs {
            let access = operator.install_access()?;
            operator = operator.access(access);
        }
        // A `wire` may use a runtime, for example for a source with a timer.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let _context = runtime.enter();
        operator.roles_source(options.namespace)
    }
}

/// What the roles of an operator are made from.
pub(super) struct RolesSource {
    pub(super) installation: Installation,
    access: Access,
    /// The definitions of the kinds that the operator defines.
    definitions: Vec<CustomResourceDefinition>,
    /// Whether only authorized users can read the metrics.
    is_authorized: bool,
    /// Whether only authorized users can read the debug page.
    is_debugged: bool,
    /// What the controllers write.
    pub(super) written: Vec<WrittenKinds>,
    /// Whether the kind of a controller is known only when the operator starts.
    pub(super) has_unknown_kind: bool,
}

impl RolesSource {
    /// The roles for an operator that is installed so.
    pub(super) fn roles(&self, installation: &Installation) -> Roles {
        let mut roles =
            Roles::new(installation, &self.access).with_user_roles(installation, &self.definitions);
        if self.is_authorized {
            roles = roles.with_metrics_reader(installation);
        }
        if self.is_debugged {
            roles = roles.with_debug_reader(installation);
        }
        roles
    }
}

impl From<InvalidName> for OperatorError {
    fn from(error: InvalidName) -> Self {
        let InvalidName { name, problem, .. } = error;
        Self::Name { name, problem }
    }
}
