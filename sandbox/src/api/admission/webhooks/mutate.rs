use serde_json::Value;

use super::ask::{Refusal, ask};
use super::hook::{Hook, Invocation};
use crate::api::FieldValidation;
use crate::api::admission::attributes::Attributes;
use crate::api::admission::round::Round;
use crate::api::admission::{equivalent, received};
use crate::core::Core;
use crate::error::ApiError;
use crate::patch::json_patch;
use crate::stack;

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
    let all = core.configurations.load(&core.store);
    for (index, hook) in Hook::all(&all.mutating_webhooks).into_iter().enumerate() {
        let wanted = hook
            .invocation(core, attributes, object.as_ref(), old)
            .await?;
        let Some(invocation) = wanted else { continue };
        if !round.wants(&hook.id()) {
            continue;
        }
        let place = format!("round_{}_index_{index}", round.number());
        let applied = apply(core, attributes, &invocation, object, old, &place, warnings).await;
        let mutated = *applied.as_ref().unwrap_or(&false);
        let key = format!("mutation.webhook.admission.k8s.io/{place}");
        attributes.audit.annotate(&key, || mutation(&hook, mutated));
        if applied? {
            round.changed();
            any = true;
        }
        round.asked(hook.id(), &hook.spec()["reinvocationPolicy"]);
    }
    round.end(object.as_ref());
    Ok(any)
}

/// The audit annotation of a call, in the order of the fields of a real server.
fn mutation(hook: &Hook, mutated: bool) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let (configuration, webhook) = (text(hook.configuration()), text(hook.name()));
    format!(r#"{{"configuration":{configuration},"webhook":{webhook},"mutated":{mutated}}}"#)
}

/// Asks one webhook and applies its patch. Returns whether the object has changed. `place` tells the call from the others of the request.
async fn apply(
    core: &Core,
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    object: &mut Option<Value>,
    old: Option<&Value>,
    place: &str,
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
            let key = format!("failed-open.mutation.webhook.admission.k8s.io/{place}");
            attributes.audit.annotate(&key, || hook.name().to_owned());
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
    // A few copies of copies make a value that is deeper than the answer.
    stack::large(|| json_patch(&mut patched, &patch)).map_err(ApiError::internal)?;
    core.stack.prepare_for(&patched).await;
    let patched = received(core, attributes, kind, patched, FieldValidation::Ignore).await?;
    let changed = object.as_ref() != Some(&patched);
    *object = Some(patched);
    Ok(changed)
}
