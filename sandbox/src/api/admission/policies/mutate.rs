use std::sync::Arc;

use serde_json::{Value, json};

use super::policy::{self, bound_to, namespace};
use super::{params, patch, refusal};
use crate::api::FieldValidation;
use crate::api::admission::attributes::Attributes;
use crate::api::admission::configurations::Configuration;
use crate::api::admission::expressions::{Scope, conditions_hold};
use crate::api::admission::round::Round;
use crate::api::admission::{equivalent, received};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::ServedKind;

/// A policy that a binding puts into force for a request, with one set of parameters.
struct Invocation {
    policy: Arc<Configuration>,
    binding: Arc<Value>,
    kind: Arc<ServedKind>,
    params: Option<Value>,
}

impl Invocation {
    /// What tells it from all others.
    fn id(&self) -> String {
        let params = self.params.as_ref();
        let text = |field| params.map_or("", |params| meta::text(params, field));
        let (policy, binding) = (meta::name(&self.policy.object), meta::name(&self.binding));
        [policy, binding, text("namespace"), text("name")].join("/")
    }
}

/// The failures that refuse a request.
#[derive(Default)]
struct Refused {
    messages: Vec<String>,
    /// The reason of the response; empty for the default.
    reason: &'static str,
}

impl Refused {
    /// Adds a failure of a policy, unless the policy ignores failures.
    fn add(&mut self, policy: &Value, binding: Option<&Value>, reason: &'static str, why: &str) {
        if policy["spec"]["failurePolicy"] == "Ignore" {
            return;
        }
        if self.messages.is_empty() {
            self.reason = reason;
        }
        let name = meta::name(policy);
        self.messages.push(match binding {
            Some(binding) => {
                let binding = meta::name(binding);
                format!("policy '{name}' with binding '{binding}' denied request: {why}")
            }
            None => format!("policy {name:?} denied request: {why}"),
        });
    }

    fn into_result(self, attributes: &Attributes<'_>, object: &Value) -> Result<(), ApiError> {
        let Some(first) = self.messages.first() else {
            return Ok(());
        };
        let details = refusal::details(attributes, Some(object), &self.messages);
        let reason = match self.reason {
            "" => "Forbidden",
            reason => reason,
        };
        Err(ApiError::of_status(&json!({
            "code": 403, "reason": reason, "message": first, "details": details,
        })))
    }
}

/// Evaluates the MutatingAdmissionPolicies. Returns whether they have changed the object.
///
/// # Errors
/// The failures of policies that do not ignore failures.
pub(in crate::api::admission) async fn mutate(
    core: &Core,
    attributes: &Attributes<'_>,
    object: &mut Option<Value>,
    old: Option<&Value>,
    round: &mut Round,
) -> Result<bool, ApiError> {
    // A deletion has no object.
    let Some(object) = object else {
        return Ok(false);
    };
    let mut refused = Refused::default();
    let mut any = false;
    for invocation in invocations(core, attributes, object, old, &mut refused).await {
        let Invocation {
            policy,
            binding,
            kind,
            params,
        } = &invocation;
        let expressions = policy.expressions();
        let policy = &policy.object;
        let spec = &policy["spec"];
        let seen_old = equivalent(core, attributes, kind, old).await?;
        let namespace = namespace(core, attributes)?;
        let scope = |object: &Value| {
            let old = seen_old.as_ref();
            Scope::new(core, attributes, kind, Some(object), old, expressions)
                .with_params(params.as_ref(), &namespace)
        };
        let seen = equivalent(core, attributes, kind, Some(object)).await?;
        let mut seen = seen.unwrap_or_default();
        match conditions_hold(spec, &mut scope(&seen)) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => {
                refused.add(policy, Some(binding), "Invalid", &why);
                continue;
            }
        }
        let id = invocation.id();
        if !round.wants(&id) {
            continue;
        }
        let before = object.clone();
        for mutation in spec["mutations"].as_array().into_iter().flatten() {
            // A configuration to apply has been checked with the schema.
            let validation = match mutation["patchType"] == "JSONPatch" && !kind.is_custom() {
                true => FieldValidation::Strict,
                false => FieldValidation::Ignore,
            };
            match patch::patched(kind, &seen, mutation, &mut scope(&seen).with_matched()) {
                Ok(patched) => {
                    core.stack.prepare_for(&patched).await;
                    *object = received(core, attributes, kind, patched, validation).await?;
                    let next = equivalent(core, attributes, kind, Some(object)).await?;
                    seen = next.unwrap_or_default();
                }
                Err(why) => refused.add(policy, Some(binding), "Invalid", &why),
            }
        }
        if *object != before {
            round.changed();
            any = true;
        }
        round.asked(id, &spec["reinvocationPolicy"]);
    }
    round.end(Some(object));
    refused.into_result(attributes, object)?;
    Ok(any)
}

/// The policies that match a request, with each binding and each set of parameters.
async fn invocations(
    core: &Core,
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
    refused: &mut Refused,
) -> Vec<Invocation> {
    let all = core.configurations.load(&core.store);
    let mut found = Vec::new();
    for configuration in &all.mutating_policies.policies {
        let of = &configuration.object;
        let bindings = bound_to(&all.mutating_policies.bindings, meta::name(of));
        if bindings.is_empty() {
            continue;
        }
        let constraints = &of["spec"]["matchConstraints"];
        let kind = match policy::matched(core, attributes, constraints, Some(object), old) {
            Ok(Some(kind)) => kind,
            Ok(None) => continue,
            Err(error) => {
                let why = format!("failed to configure policy: {error}");
                refused.add(of, None, "", &why);
                continue;
            }
        };
        for binding in bindings {
            let own = &binding["spec"]["matchResources"];
            let params = match policy::matched(core, attributes, own, Some(object), old) {
                Ok(None) => continue,
                Ok(Some(_)) => params::collect(core, attributes, of, binding).await,
                Err(error) => Err(error.message),
            };
            match params {
                Ok(params) => found.extend(params.into_iter().map(|params| Invocation {
                    policy: configuration.clone(),
                    binding: binding.clone(),
                    kind: kind.clone(),
                    params,
                })),
                Err(why) => {
                    let why = format!("failed to configure binding: {why}");
                    refused.add(of, Some(binding), "", &why);
                }
            }
        }
    }
    found
}
