use std::sync::Arc;

use serde_json::Value;

use crate::api::admission::attributes::Attributes;
use crate::api::{Target, convert};
use crate::builtin::selects;
use crate::core::Core;
use crate::registry::ServedKind;

/// The parameters with which a binding evaluates a policy, one evaluation for each. `None` stands for no parameters.
///
/// # Errors
/// The text of the error in the configuration.
pub(super) async fn collect(
    core: &Core,
    attributes: &Attributes<'_>,
    policy: &Value,
    binding: &Value,
) -> Result<Vec<Option<Value>>, String> {
    let kind = &policy["spec"]["paramKind"];
    let reference = &binding["spec"]["paramRef"];
    if kind.is_null() {
        return Ok(vec![None]);
    }
    let kind = served(core, kind)?;
    if reference.is_null() {
        return Ok(vec![None]);
    }
    let given = reference["namespace"].as_str().unwrap_or_default();
    let namespace = match (kind.namespaced, given) {
        (false, "") => None,
        (false, _) => {
            return Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into(),
            );
        }
        (true, "") if attributes.namespace().is_empty() => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .into(),
            );
        }
        (true, "") => Some(attributes.namespace()),
        (true, given) => Some(given),
    };
    let target = Target::new(&kind, namespace);
    let found = find(core, &target, reference).await?;
    if found.is_empty() && reference["parameterNotFoundAction"] == "Deny" {
        return Err(
            "no params found for policy binding with `Deny` parameterNotFoundAction".into(),
        );
    }
    Ok(found.into_iter().map(Some).collect())
}

fn served(core: &Core, kind: &Value) -> Result<Arc<ServedKind>, String> {
    let text = |field: &str| kind[field].as_str().unwrap_or_default();
    let (api_version, name) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let registry = core.registry();
    let found = registry.find_kind(group, version, name).cloned();
    found.ok_or_else(|| {
        format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={name}'")
    })
}

async fn find(core: &Core, target: &Target, reference: &Value) -> Result<Vec<Value>, String> {
    let name = reference["name"].as_str().unwrap_or_default();
    let stored: Vec<Arc<Value>> = if name.is_empty() {
        let listed = core
            .store
            .list(&target.storage(), target.namespace.as_deref(), None, None);
        let Some(Ok(listed)) = listed else {
            return Ok(Vec::new());
        };
        let selector = &reference["selector"];
        let all = listed.entries.into_iter().map(|entry| entry.object);
        all.filter(|object| selects(selector, &object["metadata"]["labels"]))
            .collect()
    } else {
        let found = core.store.get(&target.storage(), &target.key(name));
        found.map(|entry| entry.object).into_iter().collect()
    };
    let mut found = Vec::new();
    for object in stored {
        let read = convert::read(core, target, &object).await;
        found.push(read.map_err(|error| error.message)?);
    }
    Ok(found)
}
