use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinitionVersion, JSONSchemaProps, WebhookConversion,
};
use serde_json::Value;

use super::{
    CrdError, CustomResourceDefinition,
    custom_resource::{Defined, SHORTENED, limit_descriptions},
    size,
};
use crate::resource::{OtherVersion, Resource};

/// Adds the other versions of the kind to the definition of the stored one, and says how objects are converted.
///
/// # Errors
/// A version has no definition, or the versions are said to have the same fields and have not.
pub(super) fn join<K: Resource + Defined>(
    mut definition: CustomResourceDefinition,
) -> Result<CustomResourceDefinition, CrdError> {
    if K::OTHER_VERSIONS.is_empty() {
        return Ok(definition);
    }
    for other in K::OTHER_VERSIONS {
        let mut versions = of_version::<K>(other)?;
        for version in &mut versions {
            version.storage = false;
            if other.conversion.is_none() {
                same_fields::<K>(&definition.spec.versions[0], version)?;
            }
        }
        definition.spec.versions.append(&mut versions);
    }
    let is_converted = K::OTHER_VERSIONS
        .iter()
        .any(|other| other.conversion.is_some());
    definition.spec.conversion = Some(match is_converted {
        true => CustomResourceConversion {
            strategy: "Webhook".into(),
            webhook: Some(WebhookConversion {
                client_config: None,
                conversion_review_versions: vec!["v1".into()],
            }),
        },
        false => CustomResourceConversion {
            strategy: "None".into(),
            webhook: None,
        },
    });
    let is_cut = K::DECLARATION.max_description.is_some();
    Ok(if is_cut {
        definition
    } else {
        shortened(definition)
    })
}

fn of_version<K: Resource>(
    other: &OtherVersion,
) -> Result<Vec<CustomResourceDefinitionVersion>, CrdError> {
    match (other.definition)() {
        Some(definition) => Ok(definition?.spec.versions),
        None => Err(problem::<K>(
            String::new(),
            format!(
                "the version {} has no definition: remove `foreign` from its type",
                other.resource.version
            ),
        )),
    }
}

fn same_fields<K: Resource>(
    stored: &CustomResourceDefinitionVersion,
    other: &CustomResourceDefinitionVersion,
) -> Result<(), CrdError> {
    let schema = |version: &CustomResourceDefinitionVersion| {
        let mut schema = serde_json::to_value(&version.schema).unwrap_or_default();
        let mut schema = schema["openAPIV3Schema"].take();
        limit_descriptions(&mut schema, 0);
        schema
    };
    match first_difference(&schema(stored), &schema(other), String::new()) {
        None => Ok(()),
        Some(path) => Err(problem::<K>(
            path,
            format!(
                "the field differs between {} and {}, and `conversion = \"none\"` is only right if all versions have the same fields: \
                 remove the attribute, and convert with `From`",
                stored.name, other.name
            ),
        )),
    }
}

/// The path of the first field whose schemas differ.
fn first_difference(one: &Value, other: &Value, path: String) -> Option<String> {
    if one == other {
        return None;
    }
    if let (Value::Object(fields), Value::Object(others)) =
        (&one["properties"], &other["properties"])
    {
        for name in fields.keys().chain(others.keys()) {
            let (here, there) = (&one["properties"][name], &other["properties"][name]);
            let dot = if path.is_empty() { "" } else { "." };
            let inner = format!("{path}{dot}{name}");
            if let Some(found) = first_difference(here, there, inner) {
                return Some(found);
            }
        }
    }
    for (inner, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        let inner = first_difference(&one[inner], &other[inner], format!("{path}{suffix}"));
        if inner.is_some() {
            return inner;
        }
    }
    Some(path)
}

fn problem<K: Resource>(path: String, problem: String) -> CrdError {
    let kind = K::KIND.to_owned();
    CrdError {
        kind,
        path,
        problem,
    }
}

/// The definition, with descriptions cut so that `kubectl apply` takes it, if that suffices.
fn shortened(definition: CustomResourceDefinition) -> CustomResourceDefinition {
    if size::fits_apply(size::of(&definition)) {
        return definition;
    }
    let cut = |max: usize| -> Option<CustomResourceDefinition> {
        let mut cut = definition.clone();
        let schemas = cut.spec.versions.iter_mut();
        let schemas =
            schemas.filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut());
        for schema in schemas {
            let mut value = serde_json::to_value(&*schema).ok()?;
            limit_descriptions(&mut value, max);
            *schema = serde_json::from_value::<JSONSchemaProps>(value).ok()?;
        }
        size::fits_apply(size::of(&cut)).then_some(cut)
    };
    let fitting = SHORTENED.into_iter().find_map(cut);
    fitting.unwrap_or(definition)
}
