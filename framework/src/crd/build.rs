use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation,
    JSONSchemaProps,
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::{
    CrdError, CustomResourceDefinition, Schema,
    annotations::{self, Annotations, Scale},
    structural::{self, Problem},
};
use crate::resource::{ApiResource, ObjectMeta, Resource};

/// Describes one type, nested types within it.
pub type Describe = fn(&mut SchemaGenerator) -> schemars::Schema;

/// What `#[derive(Resource)]` was told beyond [`Resource`].
#[derive(Debug)]
pub struct Declaration {
    /// Singular name.
    pub singular: &'static str,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories.
    pub categories: &'static [&'static str],
    /// The struct's doc comment.
    pub description: &'static str,
    /// Longest description kept, in characters.
    pub max_description: Option<usize>,
    /// The type of `spec`.
    pub spec: Option<Describe>,
    /// Whether an object cannot be without spec.
    pub spec_required: bool,
    /// The type of `status`.
    pub status: Option<Describe>,
}

/// Describes `T`, nested types within it.
pub fn describe<T: Schema>(generator: &mut SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<T::Json>()
}

/// Refuses, at compile time, a status with a field that is neither optional nor has a default.
#[track_caller]
pub const fn check_status(gap: Option<&'static str>) {
    if let Some(gap) = gap {
        panic!("{}", gap);
    }
}

/// Refuses, at compile time, half a scale subresource.
#[track_caller]
pub const fn check_scale(spec: u8, status: u8) {
    let all = spec | status;
    if all == 0 {
        return;
    }
    if status & 1 != 0 || spec & 2 != 0 {
        panic!(
            "`scale = \"spec\"` stands on a field of the spec, `scale = \"status\"` on a field of the status"
        );
    }
    if spec & 1 == 0 {
        panic!(
            "the scale subresource has no spec: add `#[schema(scale = \"spec\")]` to the field of the spec that holds the wanted replicas"
        );
    }
    if status & 2 == 0 {
        panic!(
            "the scale subresource has no status: add `#[schema(scale = \"status\")]` to the field of the status that holds the present replicas"
        );
    }
    if spec & 4 != 0 {
        panic!("`scale = \"selector\"` stands on a field of the status");
    }
}

/// The definition of `K`.
pub fn build_crd<K: Resource>(
    declaration: &Declaration,
) -> Result<CustomResourceDefinition, CrdError> {
    build(&ApiResource::of::<K>(), declaration)
}

fn build(
    resource: &ApiResource,
    declaration: &Declaration,
) -> Result<CustomResourceDefinition, CrdError> {
    let fail = |Problem { path, text }: Problem| CrdError {
        kind: resource.kind.to_string(),
        path,
        problem: text,
    };
    let mut schema = schema(declaration).map_err(fail)?;
    let Annotations { columns, scale } = annotations::take(&mut schema).map_err(fail)?;
    if let Some(max) = declaration.max_description {
        structural::limit_descriptions(&mut schema, max);
    }
    let schema: JSONSchemaProps = serde_json::from_value(schema).map_err(|error| {
        fail(Problem {
            path: String::new(),
            text: format!("the schema does not fit Kubernetes' form: {error}"),
        })
    })?;
    Ok(definition(resource, declaration, schema, columns, scale))
}

/// The schema of whole objects.
fn schema(declaration: &Declaration) -> Result<Value, Problem> {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.clear();
    }));
    let mut properties = json!({
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    });
    for (name, describe) in [("spec", declaration.spec), ("status", declaration.status)] {
        if let Some(describe) = describe {
            let schema = describe(&mut generator).to_value();
            properties[name] = structural::rewrite(schema, name)?;
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !declaration.description.is_empty() {
        schema["description"] = declaration.description.into();
    }
    if declaration.spec_required {
        schema["required"] = json!(["spec"]);
    }
    Ok(schema)
}

fn definition(
    resource: &ApiResource,
    declaration: &Declaration,
    schema: JSONSchemaProps,
    columns: Vec<CustomResourceColumnDefinition>,
    scale: Scale,
) -> CustomResourceDefinition {
    let owned = |names: &[&str]| -> Option<Vec<String>> {
        (!names.is_empty()).then(|| names.iter().map(|name| (*name).to_owned()).collect())
    };
    let scale = match (scale.spec, scale.status) {
        (Some(spec), Some(status)) => Some(CustomResourceSubresourceScale {
            spec_replicas_path: spec,
            status_replicas_path: status,
            label_selector_path: scale.selector,
        }),
        _ => None,
    };
    let status = declaration
        .status
        .map(|_| CustomResourceSubresourceStatus(json!({})));
    let subresources = (status.is_some() || scale.is_some())
        .then_some(CustomResourceSubresources { scale, status });
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", resource.plural, resource.group)),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: resource.group.to_string(),
            scope: scope.to_owned(),
            names: CustomResourceDefinitionNames {
                kind: resource.kind.to_string(),
                list_kind: Some(format!("{}List", resource.kind)),
                plural: resource.plural.to_string(),
                singular: Some(declaration.singular.to_owned()),
                short_names: owned(declaration.short_names),
                categories: owned(declaration.categories),
            },
            versions: vec![CustomResourceDefinitionVersion {
                name: resource.version.to_string(),
                served: true,
                storage: true,
                additional_printer_columns: Some(columns),
                subresources,
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema),
                }),
                ..CustomResourceDefinitionVersion::default()
            }],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    }
}
