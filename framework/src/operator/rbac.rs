use super::{Operator, OperatorError, command_line::RolesOptions, leadership, printed};
use crate::{
    crd,
    manifests::{Installation, InvalidName, Roles},
    resource::ApiResource,
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
        let installation = Installation::new(&self.name)?
            .in_namespace(namespace)
            .works_in(&self.namespaces);
        let registered = self.registered.iter();
        let kinds: Vec<ApiResource> = registered
            .filter(|registered| registered.definition().is_some())
            .filter_map(|registered| registered.resource().cloned())
            .collect();
        let mut access = self.access.with_controllers(self.registered)?;
        if let Some(election) = &self.election {
            access = access.and(leadership::access(election, &installation.namespace));
        }
        let is_authorized = self.metrics_address.is_some() && self.serving.is_authorized();
        if is_authorized {
            access = access.and(Reviewer::access());
        }
        let roles = Roles::new(&installation, &access).with_user_roles(&installation, &kinds);
        Ok(match is_authorized {
            true => roles.with_metrics_reader(&installation),
            false => roles,
        })
    }

    /// The output of the command `rbac`.
    pub(super) fn roles_as_yaml(self, options: RolesOptions) -> Result<String, OperatorError> {
        printed::yaml(self.roles_with(options)?.to_json())
    }

    /// The roles of an operator that runs with these options.
    pub(super) fn roles_with(self, options: RolesOptions) -> Result<Roles, OperatorError> {
        let mut operator = self.with_options(options.run);
        if options.installs {
            let definitions = operator.definitions()?;
            operator = operator.access(crd::install_access(&definitions));
        }
        // A `wire` may use a runtime, for example for a source with a timer.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let _context = runtime.enter();
        operator.roles(options.namespace)
    }
}

impl From<InvalidName> for OperatorError {
    fn from(error: InvalidName) -> Self {
        let InvalidName { name, problem, .. } = error;
        Self::Name { name, problem }
    }
}
