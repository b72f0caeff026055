use serde_json::Value;

use super::ask::{Refusal, ask};
use super::hook::{Hook, Invocation};
use crate::api::admission::attributes::Attributes;
use crate::api::admission::round::Round;
use crate::api::admission::{equivalent, received};
use crate::core::Core;
use crate::error::ApiError;
use crate::patch::json_patch;

/// Asks the mutating webhooks. Returns whether they have changed the object.
///
/// # Errors
/// The denial of a webhook; 500 if one cannot be asked or returns nonsense; the errors of [`Hook::invocation`].
pub(in crate::api::admission) async fn mutate(
    core: &Core,
    attributes: &Attributes<'_>,
    object: &mut Option<Value>,
    old: Option<&Value>,
    round: &mut Round,
    warnings: &mut Vec<String>,
) -> Result<bool, ApiError> {
    let mut any = false;
    for hook in Hook::all(core, "mutatingwebhookconfigurations") {
        let wanted = hook
            .invocation(core, attributes, object.as_ref(), old)
            .await?;
        let Some(invocation) = wanted else { continue };
        if !round.wants(&hook.id()) {
            continue;
        }
        let changed = apply(core, attributes, &invocation, object, old, warnings).await?;
        if changed {
            round.changed();
            any = true;
        }
        round.asked(hook.id(), &hook.spec()["reinvocationPolicy"]);
    }
    round.end(object.as_ref());
    Ok(any)
}

/// Asks one webhook and applies its patch. Returns whether the object has changed.
async fn apply(
    core: &Core,
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    object: &mut Option<Value>,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<bool, ApiError> {
    let Invocation { hook, kind } = invocation;
    let seen = equivalent(core, attributes, kind, object.as_ref()).await?;
    let seen_old = equivalent(core, attributes, kind, old).await?;
    let answer = ask(
        core,
        attributes,
        invocation,
        true,
        seen.as_ref(),
        seen_old.as_ref(),
    )
    .await;
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(Refusal::Failed(error)) if hook.ignores_failures() => {
            tracing::warn!(webhook = hook.name(), %error, "a mutating webhook failed, and the request goes on");
            return Ok(false);
        }
        Err(Refusal::Failed(error) | Refusal::Denied(error)) => return Err(error),
    };
    warnings.append(&mut answer.warnings);
    let Some(patch) = answer.patch else {
        return Ok(false);
    };
    let Some(seen) = seen else {
        return Err(ApiError::internal(format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name()
        )));
    };
    let mut patched = seen.clone();
    json_patch(&mut patched, &patch).map_err(ApiError::internal)?;
    let patched = received(core, attributes, kind, patched).await?;
    let changed = object.as_ref() != Some(&patched);
    *object = Some(patched);
    Ok(changed)
}
