use futures_util::future::join_all;
use serde_json::Value;

use super::ask::{Refusal, ask};
use super::hook::Hook;
use crate::api::admission::attributes::Attributes;
use crate::api::admission::equivalent;
use crate::core::Core;
use crate::error::ApiError;

/// Asks the validating webhooks, all at the same time.
///
/// # Errors
/// The first denial in the order of the webhooks; 500 if one cannot be asked; the errors of [`Hook::invocation`].
pub(in crate::api::admission) async fn validate(
    core: &Core,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<(), ApiError> {
    let mut wanted = Vec::new();
    let all = core.configurations.load(&core.store);
    for hook in Hook::all(&all.validating_webhooks) {
        let Some(invocation) = hook.invocation(core, attributes, object, old).await? else {
            continue;
        };
        let seen = equivalent(core, attributes, &invocation.kind, object).await?;
        let seen_old = equivalent(core, attributes, &invocation.kind, old).await?;
        wanted.push((invocation, seen, seen_old));
    }
    let asked = wanted.iter().map(|(invocation, seen, seen_old)| {
        ask(
            core,
            attributes,
            invocation,
            false,
            seen.as_ref(),
            seen_old.as_ref(),
        )
    });
    let answers = join_all(asked).await;
    let mut refused = None;
    for (index, ((invocation, ..), answer)) in wanted.iter().zip(answers).enumerate() {
        let hook = &invocation.hook;
        match answer {
            Ok(mut answer) => warnings.append(&mut answer.warnings),
            Err(Refusal::Failed(error)) if hook.ignores_failures() => {
                tracing::warn!(webhook = hook.name(), %error, "a validating webhook failed, and the request goes on");
                let key = format!(
                    "failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}"
                );
                attributes.audit.annotate(&key, || hook.name().to_owned());
            }
            Err(Refusal::Failed(error) | Refusal::Denied(error)) => {
                refused.get_or_insert(error);
            }
        }
    }
    match refused {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
