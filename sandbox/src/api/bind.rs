use serde_json::{Value, json};

use super::evict::set_condition;
use super::update::Change;
use super::{Answered, Target, WriteOptions, update};
use crate::core::Core;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::registry::GroupResource;

/// Binds a Pod to a node, for a scheduler that creates a `Binding`.
///
/// # Errors
/// 400 if the binding names another Pod; 404; 409 if the Pod already has a node or is being deleted; 500 if the binding
/// names no node.
pub(crate) async fn bind(
    core: &Core,
    target: &Target,
    name: &str,
    binding: Value,
    options: &WriteOptions,
) -> Result<Answered, ApiError> {
    let (binding, warnings) =
        super::admit_own_kind(core, target, "binding", name, binding, options).await?;
    let binding = &binding;
    let options = &options.unadmitted();
    if meta::name(binding) != name {
        let message = "name in URL does not match name in Binding object";
        return Err(ApiError::bad_request(message));
    }
    let text = |pointer: &str| binding.pointer(pointer).and_then(Value::as_str);
    let node = text("/target/name").unwrap_or_default();
    valid(text("/target/kind").unwrap_or_default(), node)?;
    let refused = |why: String| {
        let resource = GroupResource::new("", "pods/binding");
        Err(ApiError::conflict(&resource, name, &why))
    };
    let now = core.clock.timestamp();
    update(core, target, name, "binding", options, |pod| {
        if meta::is_deleting(pod) {
            return refused(format!(
                "pod {name} is being deleted, cannot be assigned to a host"
            ));
        }
        let there = pod.pointer("/spec/nodeName").and_then(Value::as_str);
        if let Some(there) = there.filter(|there| !there.is_empty()) {
            return refused(format!("pod {name} is already assigned to node {there:?}"));
        }
        let gates = pod
            .pointer("/spec/schedulingGates")
            .and_then(Value::as_array);
        if gates.is_some_and(|gates| !gates.is_empty()) {
            return refused(format!("pod {name} has non-empty .spec.schedulingGates"));
        }
        let mut pod = pod.clone();
        for field in ["uid", "resourceVersion"] {
            let given = meta::text(binding, field);
            if !given.is_empty() {
                meta::set(&mut pod, field, given);
            }
        }
        pod["spec"]["nodeName"] = node.into();
        for field in ["annotations", "labels"] {
            let given = binding.pointer(&format!("/metadata/{field}"));
            for (key, value) in given.and_then(Value::as_object).into_iter().flatten() {
                // As Go decodes it, `null` is an empty text.
                pod["metadata"][field][key] = value.as_str().unwrap_or_default().into();
            }
        }
        set_condition(
            &mut pod,
            &json!({
                "type": "PodScheduled", "status": "True",
                "lastProbeTime": null, "lastTransitionTime": now,
            }),
        );
        Ok(Change::Owned(pod))
    })
    .await?;
    Ok(Answered {
        answer: super::success(201),
        warnings,
    })
}

/// Checks a binding. A real server reports an invalid one without a reason.
fn valid(kind: &str, node: &str) -> Result<(), ApiError> {
    let mut wrong = Vec::new();
    if !matches!(kind, "" | "Node") {
        wrong.push(Cause::not_supported(
            "target.kind",
            kind,
            &["Node", "<empty>"],
        ));
    }
    if node.is_empty() {
        wrong.push(Cause::required("target.name", ""));
    }
    let texts: Vec<String> = wrong
        .iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(ApiError::new(500, "", one)),
        many => Err(ApiError::new(500, "", format!("[{}]", many.join(", ")))),
    }
}
