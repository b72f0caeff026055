use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionNames, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    CustomResourceSubresourceScale, CustomResourceSubresourceStatus, CustomResourceSubresources,
    CustomResourceValidation, JSONSchemaProps,
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::{
    CrdError, CustomResourceDefinition,
    annotations::{self, Annotations},
    size,
    structural::{self, SchemaProblem},
    versions,
};
use crate::resource::{ApiResource, ObjectMeta, Resource, RulePlace};

/// A kind of your own, with a definition. `#[derive(Resource)]` implements it.
pub trait CustomResource: Resource {
    /// The definition of this kind, to install on an API server.
    ///
    /// It depends on the Rust types only: each call returns the same value.
    ///
    /// The definition of a kind with several versions has all of them, the stored one first. If the program converts between them, the
    /// strategy of its conversion is `Webhook` without a `clientConfig`, because the types do not tell where the operator runs. An API server
    /// refuses that; [`Operator::definitions`](crate::operator::Operator::definitions) adds the Service of the operator.
    ///
    /// # Errors
    ///
    /// Returns a [`CrdError`] if the types have no structural schema. It names the field and says what to do.
    fn crd() -> Result<CustomResourceDefinition, CrdError>;

    /// Where the CEL rules of the definition stand in the source. Empty if there is no definition.
    #[doc(hidden)]
    fn rule_places() -> Vec<RulePlace>;
}

impl<K: Resource + Defined> CustomResource for K {
    fn crd() -> Result<CustomResourceDefinition, CrdError> {
        let (definition, _) = build(&ApiResource::of::<K>(), &K::DECLARATION)?;
        versions::join::<K>(definition)
    }

    fn rule_places() -> Vec<RulePlace> {
        let built = build(&ApiResource::of::<K>(), &K::DECLARATION);
        built.map(|(_, places)| places).unwrap_or_default()
    }
}

/// What the derive writes. It does not demand [`Resource`], so that a kind without `Clone` is one error and not two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a custom resource",
    note = "only kinds with `#[derive(Resource)]` have a definition; Kubernetes' own kinds are built into the API server"
)]
pub trait Defined {
    /// What the definition of the kind is made from.
    const DECLARATION: Declaration;
}

/// Describes one type, with the types in it inlined.
pub type Describe = fn(&mut SchemaGenerator) -> schemars::Schema;

/// The attributes of `#[derive(Resource)]` that [`Resource`] does not have.
#[derive(Debug)]
pub struct Declaration {
    /// Singular name.
    pub singular: &'static str,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories.
    pub categories: &'static [&'static str],
    /// Labels of the definition.
    pub labels: &'static [(&'static str, &'static str)],
    /// Annotations of the definition.
    pub annotations: &'static [(&'static str, &'static str)],
    /// What the API server tells each client of the version, if it is deprecated.
    pub deprecated: Option<&'static str>,
    /// The struct's doc comment.
    pub description: &'static str,
    /// Length to which descriptions are cut, in characters. With `None` they are cut only if the definition does not fit
    /// into an annotation of `kubectl apply` otherwise.
    pub max_description: Option<usize>,
    /// Describes the type of `spec`; `None` if the kind has no spec.
    pub spec: Option<Describe>,
    /// Whether each object must have a spec.
    pub spec_required: bool,
    /// Describes the type of `status`; `None` if the kind has no status.
    pub status: Option<Describe>,
    /// What `#[schema(..)]` on the kind adds to the schema of the whole object.
    pub marks: fn() -> schemars::Schema,
}

/// Lets a parameter of the derive's copy occur in the type of a field: the type is `T`, whatever the parameter is.
pub trait Keeps<T> {
    /// `T`.
    type Type;
}

impl<P: ?Sized, T> Keeps<T> for P {
    type Type = T;
}

/// The first problem, if there is one.
pub const fn first(problems: &[Option<&'static str>]) -> Option<&'static str> {
    let mut at = 0;
    while at < problems.len() {
        if problems[at].is_some() {
            return problems[at];
        }
        at += 1;
    }
    None
}

/// Fails to compile if serde's form of a field is not one for Kubernetes.
#[track_caller]
pub const fn check_form(problem: Option<&'static str>) {
    if let Some(problem) = problem {
        panic!("{}", problem);
    }
}

/// Fails to compile if a field of the status is neither optional nor has a default.
#[track_caller]
pub const fn check_status(gap: Option<&'static str>) {
    if let Some(gap) = gap {
        panic!("{}", gap);
    }
}

/// The value of `Schema::SCALE` if the derive failed.
pub const UNKNOWN_SCALE: u8 = 0x80;

/// Fails to compile if the scale subresource is incomplete.
#[track_caller]
pub const fn check_scale(spec: u8, status: u8) {
    let all = spec | status;
    if all == 0 || all & UNKNOWN_SCALE != 0 {
        return;
    }
    if status & 1 != 0 || spec & 2 != 0 {
        panic!(
            "`scale = \"spec\"` must be on a field of the spec, and `scale = \"status\"` on a field of the status"
        );
    }
    if spec & 1 == 0 {
        panic!(
            "the scale subresource has no spec: add `#[schema(scale = \"spec\")]` to the field of the spec that holds the desired number of replicas"
        );
    }
    if status & 2 == 0 {
        panic!(
            "the scale subresource has no status: add `#[schema(scale = \"status\")]` to the field of the status that holds the present number of replicas"
        );
    }
    if spec & 4 != 0 {
        panic!("`scale = \"selector\"` must be on a field of the status");
    }
}

/// The lengths to which descriptions are cut, in characters, if `kubectl apply` would not take the definition otherwise. The
/// longest that suffices is taken. If none does, the descriptions stay whole.
pub(super) const SHORTENED: [usize; 7] = [1000, 500, 250, 120, 60, 30, 0];

/// Builds a definition. Returns it with the places of its CEL rules in the source.
pub(super) fn build(
    resource: &ApiResource,
    declaration: &Declaration,
) -> Result<(CustomResourceDefinition, Vec<RulePlace>), CrdError> {
    let fail = |SchemaProblem { path, text }: SchemaProblem| CrdError {
        kind: resource.kind.to_string(),
        path,
        problem: text,
    };
    let mut schema = schema(declaration).map_err(fail)?;
    let annotations = annotations::extract(&mut schema).map_err(fail)?;
    let with_descriptions = |max: Option<usize>| {
        let mut schema = schema.clone();
        if let Some(max) = max {
            limit_descriptions(&mut schema, max);
        }
        let schema: JSONSchemaProps = serde_json::from_value(schema).map_err(|error| {
            fail(SchemaProblem {
                path: String::new(),
                text: format!("the schema does not fit Kubernetes' `JSONSchemaProps`: {error}"),
            })
        })?;
        Ok(definition(resource, declaration, schema, &annotations))
    };
    let definition = with_descriptions(declaration.max_description)?;
    if declaration.max_description.is_some() || size::fits_apply(size::of(&definition)) {
        return Ok((definition, annotations.places));
    }
    for max in SHORTENED {
        let shortened = with_descriptions(Some(max))?;
        if size::fits_apply(size::of(&shortened)) {
            return Ok((shortened, annotations.places));
        }
    }
    Ok((definition, annotations.places))
}

/// The schema of a whole object.
fn schema(declaration: &Declaration) -> Result<Value, SchemaProblem> {
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
            properties[name] = structural::rewrite(schema, name)?.into();
        }
    }
    let mut schema = (declaration.marks)().to_value();
    schema["type"] = "object".into();
    schema["properties"] = properties;
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
    annotations: &Annotations,
) -> CustomResourceDefinition {
    let Annotations {
        columns,
        scale,
        selectable,
        ..
    } = annotations;
    let owned = |names: &[&str]| -> Option<Vec<String>> {
        (!names.is_empty()).then(|| names.iter().map(|name| (*name).to_owned()).collect())
    };
    let scale = match (&scale.spec, &scale.status) {
        (Some(spec), Some(status)) => Some(CustomResourceSubresourceScale {
            spec_replicas_path: spec.clone(),
            status_replicas_path: status.clone(),
            label_selector_path: scale.selector.clone(),
        }),
        _ => None,
    };
    let status = declaration
        .status
        .map(|_| CustomResourceSubresourceStatus(json!({})));
    let subresources = (status.is_some() || scale.is_some())
        .then_some(CustomResourceSubresources { scale, status });
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Some(pairs.collect()).filter(|pairs: &BTreeMap<_, _>| !pairs.is_empty())
    };
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", resource.plural, resource.group)),
            labels: pairs(declaration.labels),
            annotations: pairs(declaration.annotations),
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
                deprecated: declaration.deprecated.map(|_| true),
                deprecation_warning: declaration.deprecated.map(str::to_owned),
                additional_printer_columns: Some(columns.clone()),
                selectable_fields: (!selectable.is_empty()).then(|| selectable.clone()),
                subresources,
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema),
                }),
            }],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    }
}

/// Cuts every description to `max` characters; 0 removes all descriptions.
pub(super) fn limit_descriptions(schema: &mut Value, max: usize) {
    let Value::Object(map) = schema else { return };
    match map.get_mut("description") {
        Some(Value::String(_)) if max == 0 => {
            map.remove("description");
        }
        Some(Value::String(text)) => {
            if let Some((at, _)) = text.char_indices().nth(max) {
                text.truncate(at);
            }
        }
        _ => {}
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            limit_descriptions(property, max);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            limit_descriptions(inner, max);
        }
    }
}
