use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::hook::Invocation;
use super::review::{self, Answer, Unusable};
use crate::api::admission::attributes::Attributes;
use crate::calls::Destination;
use crate::core::Core;
use crate::error::ApiError;

/// Why a webhook does not admit a request.
pub(super) enum Refusal {
    /// It could not be asked, or its answer cannot be used. Its failure policy decides.
    Failed(ApiError),
    /// It denies the request, or the server cannot ask it.
    Denied(ApiError),
}

/// Asks a webhook about an object, which has the kind of the invocation already.
pub(super) async fn ask(
    core: &Core,
    attributes: &Attributes<'_>,
    Invocation { hook, kind }: &Invocation,
    mutating: bool,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Answer, Refusal> {
    let (spec, name) = (hook.spec(), hook.name());
    let failed = |why: String| {
        let why = format!("failed calling webhook {name:?}: {why}");
        Refusal::Failed(ApiError::internal(why))
    };
    let has_effects = !matches!(spec["sideEffects"].as_str(), Some("None" | "NoneOnDryRun"));
    if attributes.dry_run && has_effects {
        let why = format!("admission webhook {name:?} does not support dry run");
        return Err(Refusal::Denied(ApiError::bad_request(why)));
    }
    let version = review::version(spec)
        .map_err(|why| failed(format!("could not create admission objects: {why}")))?;
    let request = review::request(core, attributes, kind);
    let uid = request["uid"].clone();
    let document = review::review(version, request, object, old);
    let to = Destination::read(&spec["clientConfig"])
        .map_err(|why| failed(format!("could not get REST client: {why}")))?;
    let seconds = spec["timeoutSeconds"].as_u64().unwrap_or(10);
    let timeout = Duration::from_secs(seconds);
    let left = attributes.deadline.map(|end| end - Instant::now());
    let timeout = left.map_or(timeout, |left| left.min(timeout));
    let body = core.calls.post(&core.store, &to, &document, timeout).await;
    let body = body.map_err(|why| failed(format!("failed to call webhook: {why}")))?;
    core.stack.prepare(&body).await;
    let answer =
        review::read(version, &uid, mutating, &body).map_err(|unusable| match unusable {
            Unusable::Invalid(why) => failed(format!("received invalid webhook response: {why}")),
            Unusable::UndecodablePatch(why) => failed(format!(
                "received undecodable patch in webhook response: {why}"
            )),
            Unusable::PatchType(kind) => failed(format!("unsupported patch type {kind:?}")),
        })?;
    for (key, value) in &answer.annotations {
        let key = format!("{name}/{key}");
        attributes.audit.annotate(&key, || value.clone());
    }
    match answer.allowed {
        true => Ok(answer),
        false => Err(Refusal::Denied(
            denial(name, answer.result).warned(&answer.warnings),
        )),
    }
}

/// The response to a request that a webhook denies: the status of the webhook, completed.
fn denial(name: &str, mut result: Value) -> ApiError {
    if !result.is_object() {
        result = json!({});
    }
    if !(400..600).contains(&result["code"].as_i64().unwrap_or(0)) {
        result["code"] = 400.into();
    }
    let denied = format!("admission webhook {name:?} denied the request");
    let text = |field: &str| result[field].as_str().filter(|text| !text.is_empty());
    let message = match (text("message"), text("reason")) {
        (Some(why), _) | (None, Some(why)) => format!("{denied}: {why}"),
        (None, None) => format!("{denied} without explanation"),
    };
    result["message"] = message.into();
    ApiError::of_status(&result)
}
