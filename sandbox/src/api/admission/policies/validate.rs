use serde_json::{Value, json};

use super::audit;
use super::decide::{Denial, decide};
use super::params;
use super::policy::{self, bound_to, namespace};
use super::refusal;
use crate::api::admission::attributes::Attributes;
use crate::api::admission::expressions::Scope;
use crate::api::admission::{equivalent, rules};
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;

/// Evaluates the ValidatingAdmissionPolicies.
///
/// # Errors
/// The first denial.
pub(in crate::api::admission) async fn validate(
    core: &Core,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let all = core.configurations.load(&core.store);
    let mut denied = Vec::new();
    for configuration in &all.validating_policies.policies {
        let of = &configuration.object;
        let name = meta::name(of);
        let bindings = bound_to(&all.validating_policies.bindings, name);
        // A policy without a binding has no effect.
        if bindings.is_empty() {
            continue;
        }
        let fails = of["spec"]["failurePolicy"] != "Ignore";
        let constraints = &of["spec"]["matchConstraints"];
        let kind = match policy::matched(core, attributes, constraints, object, old) {
            Ok(Some(kind)) => kind,
            Ok(None) => continue,
            Err(error) => {
                if fails {
                    let message = format!("failed to configure policy: {error}");
                    denied.push(shown(name, None, message, ""));
                }
                continue;
            }
        };
        let seen = equivalent(core, attributes, &kind, object).await?;
        let seen_old = equivalent(core, attributes, &kind, old).await?;
        let mut annotations = audit::Annotations::default();
        for binding in bindings {
            let bound = meta::name(binding);
            let own = &binding["spec"]["matchResources"];
            let found = match policy::matched(core, attributes, own, object, old) {
                Ok(None) => continue,
                Ok(Some(_)) => params::collect(core, attributes, of, binding).await,
                Err(error) => Err(error.message),
            };
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    if fails {
                        let message = format!("failed to configure binding: {why}");
                        denied.push(shown(name, Some(bound), message, ""));
                    }
                    continue;
                }
            };
            for parameters in found {
                let (seen, seen_old) = (seen.as_ref(), seen_old.as_ref());
                let namespace = namespace(core, attributes)?;
                let expressions = configuration.expressions();
                let scope = Scope::new(core, attributes, &kind, seen, seen_old, expressions)
                    .with_params(parameters.as_ref(), &namespace);
                let decision = decide(of, scope);
                for (index, denial) in decision.denials {
                    let Denial { message, reason } = denial;
                    let actions = binding["spec"]["validationActions"].as_array();
                    for action in actions.into_iter().flatten() {
                        if action == "Deny" {
                            denied.push(shown(name, Some(bound), message.clone(), &reason));
                        } else if action == "Warn" {
                            warnings.push(format!(
                                "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{bound}': {message}"
                            ));
                        } else if action == "Audit" {
                            audit::failure(attributes.audit, binding, index, &message);
                        }
                    }
                }
                // They deny whatever the binding says.
                for why in decision.failed_annotations {
                    denied.push(shown(name, Some(bound), why, ""));
                }
                annotations.extend(decision.annotations);
            }
        }
        annotations.publish(attributes.audit, name);
    }
    match denied.into_iter().next() {
        None => Ok(()),
        Some((message, reason)) => Err(denial(attributes, object, message, &reason)),
    }
}

fn shown(policy: &str, binding: Option<&str>, message: String, reason: &str) -> (String, String) {
    let message = match binding {
        Some(binding) => format!(
            "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {message}"
        ),
        None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {message}"),
    };
    (message, reason.to_owned())
}

/// The response to a request that a policy denies.
fn denial(
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    message: String,
    reason: &str,
) -> ApiError {
    let (code, reason) = match reason {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    let name = rules::shown_name(attributes, object);
    let forbidden = ApiError::forbidden(&attributes.target.resource(), name, &message);
    let details = refusal::details(attributes, object, &[message]);
    ApiError::of_status(&json!({
        "code": code, "reason": reason, "message": forbidden.message, "details": details,
    }))
}
