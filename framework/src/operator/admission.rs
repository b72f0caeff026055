//! The admission rules of an operator.

use std::collections::BTreeMap;

use serde_json::Value;

#[cfg(feature = "dev")]
use super::rule_check;
use super::{Operator, OperatorError, definition_check::OwnDefinition};
use crate::{
    admission::{self, AdmissionRule, KnownKind},
    client::{Client, Error},
    crd,
    manifests::Installation,
    resource::{Access, AccessRule},
};

impl Operator {
    /// Adds a rule that the API server evaluates by itself: what has to hold for an object, or a default. See
    /// [`admission`](crate::admission).
    ///
    /// ```
    /// use pilothouse::{admission::AdmissionRule, prelude::*};
    ///
    /// let rule = AdmissionRule::on::<Deployment>("replicas").check("object.spec.replicas <= 5", "at most 5 replicas");
    /// let operator = Operator::new("teams").admission_rule(rule);
    /// # drop(operator);
    /// ```
    pub fn admission_rule(mut self, rule: AdmissionRule) -> Self {
        self.admission_rules.push(rule);
        self
    }

    /// Checks what can be wrong with the rules without an API server.
    pub(super) fn check_rules(&self) -> Result<(), OperatorError> {
        for (number, rule) in self.admission_rules.iter().enumerate() {
            let refused = |problem: String| OperatorError::AdmissionRule {
                rule: rule.shown(),
                place: rule.place.to_string(),
                problem,
            };
            rule.check_settings().map_err(refused)?;
            let mut before = self.admission_rules.iter().take(number);
            if let Some(other) = before.find(|other| other.name == rule.name) {
                let problem = format!(
                    "the rule at {} has the same name: give one of them another name",
                    other.place
                );
                return Err(refused(problem));
            }
        }
        Ok(())
    }

    /// The kinds that the rules name and that the operator defines, although no controller may reconcile them.
    pub(super) fn kinds_of_rules(&self) -> Result<Vec<OwnDefinition>, OperatorError> {
        let mut all = Vec::new();
        for rule in &self.admission_rules {
            let params = rule.params.iter().map(|(kind, _)| kind);
            for kind in std::iter::once(&rule.kind).chain(params) {
                all.extend(own_definition(kind)?);
            }
        }
        Ok(all)
    }

    /// The rules as objects of a cluster.
    pub(super) fn policies(&self) -> Result<InstalledRules, OperatorError> {
        if self.admission_rules.is_empty() {
            return Ok(InstalledRules::none(&self.name));
        }
        let labels = Installation::new(&self.name)?.labels();
        Ok(InstalledRules {
            policies: admission::policies(
                &self.admission_rules,
                &self.name,
                &labels,
                &self.namespaces,
            ),
            ..InstalledRules::none(&self.name)
        })
    }

    /// The permissions that [`install`](Self::install) needs: for the definitions, and for the admission rules. An operator that
    /// installs them itself declares them by [`access`](Self::access). The commands `rbac` and `manifests` know the flag `--install-definitions`
    /// for this.
    ///
    /// # Errors
    /// [`OperatorError::Definition`] if a definition cannot be made.
    pub fn install_access(&self) -> Result<Access, OperatorError> {
        let definitions = crd::install_access(&self.definitions()?);
        let policies = self.policies()?.access();
        // An API server lets only those name parameters who may read them.
        let params = self.admission_rules.iter().filter_map(|rule| {
            let (kind, _) = rule.params.as_ref()?;
            Some(Access::from(AccessRule::of_resource(
                &kind.resource,
                ["get"],
            )))
        });
        Ok([definitions, policies].into_iter().chain(params).sum())
    }

    /// Checks the expressions of the rules, and returns the rules.
    ///
    /// # Errors
    /// [`OperatorError::RefusedRules`], with the feature `dev`.
    pub(super) fn checked_rules(&self) -> Result<Vec<AdmissionRule>, OperatorError> {
        #[cfg(feature = "dev")]
        rule_check::check(&self.admission_rules)?;
        Ok(self.admission_rules.clone())
    }
}

/// The definition of a kind that the operator defines.
pub(super) fn own_definition(kind: &KnownKind) -> Result<Option<OwnDefinition>, OperatorError> {
    let definition = (kind.definition)().transpose();
    let definition = definition.map_err(OperatorError::Definition)?;
    Ok(definition.map(|definition| OwnDefinition {
        definition,
        rust_type: kind.rust_type,
        places: (kind.rule_places)(),
    }))
}

/// The policies of an operator, to install them.
pub(super) struct InstalledRules {
    operator: String,
    policies: Vec<Value>,
}

impl InstalledRules {
    fn none(operator: &str) -> Self {
        Self {
            operator: operator.to_owned(),
            policies: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// The permissions that applying and removing them needs. None without rules.
    fn access(&self) -> Access {
        let mut access = Access::default();
        for kind in admission::kinds() {
            if self.is_empty() {
                break;
            }
            access = access.and(AccessRule::of_resource(&kind, ["list", "delete"]));
            let own = self.policies.iter().filter(|one| one["kind"] == *kind.kind);
            for name in own.filter_map(|one| one["metadata"]["name"].as_str()) {
                // Applying an object that does not exist is also a `create` of that name.
                let apply = AccessRule::of_resource(&kind, ["create", "patch"]);
                access = access.and(apply.named(name));
            }
        }
        access
    }

    /// Applies them.
    ///
    /// # Errors
    /// [`OperatorError::RuleNotServed`] if the server is too old, and the error of another request.
    pub(super) async fn apply(&self, client: &Client) -> Result<(), OperatorError> {
        let applied = admission::install(client, &self.operator, &self.policies).await;
        applied.map_err(
            |(kind, error): (String, Error)| match error.is_not_found() {
                true => OperatorError::RuleNotServed { kind },
                false => error.into(),
            },
        )
    }

    /// Removes those of rules that the program does not have any more.
    pub(super) async fn prune(&self, client: &Client) -> Result<(), OperatorError> {
        let labels: BTreeMap<String, String> = match Installation::new(&self.operator) {
            Ok(installation) => installation.labels(),
            // No operator of such a name can have rules.
            Err(_) => return Ok(()),
        };
        let pairs: Vec<String> = labels
            .iter()
            .map(|(key, one)| format!("{key}={one}"))
            .collect();
        let selector = pairs.join(",");
        admission::prune(client, &self.operator, &selector, &self.policies).await?;
        Ok(())
    }
}
