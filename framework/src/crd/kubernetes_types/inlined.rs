use std::{borrow::Cow, marker::PhantomData};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON,
    apimachinery::pkg::{api::resource::Quantity, runtime::RawExtension},
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::crd::Schema;

/// Describes `T` as k8s-openapi does, with what a structural schema needs besides.
///
/// * References are replaced by what they refer to.
/// * Types that k8s-openapi describes too loosely have the framework's schema: quantities and open objects.
/// * `metadata` is not required, because no API requires it and k8s-openapi reads an object without it.
#[derive(Debug)]
pub struct Inlined<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Inlined<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.transforms.clear();
        });
        // The generator of the caller inlines every type, which hides the names by which types are found here.
        let mut generator = SchemaGenerator::new(settings);
        let schema = T::json_schema(&mut generator).to_value();
        let definitions = generator.take_definitions(false);
        schemars::Schema::try_from(inline(schema, &definitions)).unwrap_or_default()
    }
}

/// The schema without references.
fn inline(schema: Value, definitions: &Map<String, Value>) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    let reference = schema.remove("$ref");
    let name = reference.as_ref().and_then(Value::as_str);
    if let Some(name) = name.and_then(|name| name.strip_prefix("#/$defs/")) {
        let found = own(name).unwrap_or_else(|| {
            let found = definitions.get(name).cloned().unwrap_or_default();
            inline(found, definitions)
        });
        if let Value::Object(found) = found {
            for (key, value) in found {
                // The description of the field stands beside the reference.
                schema.entry(key).or_insert(value);
            }
        }
        return Value::Object(schema);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            *property = inline(property.take(), definitions);
        }
        let is_object = ["apiVersion", "kind", "metadata"]
            .iter()
            .all(|name| properties.contains_key(*name));
        if is_object && let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name != "metadata");
            if required.is_empty() {
                schema.remove("required");
            }
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key) {
            *inner = inline(inner.take(), definitions);
        }
    }
    Value::Object(schema)
}

/// The framework's schema of a type that k8s-openapi describes too loosely.
fn own(name: &str) -> Option<Value> {
    let name = name.rsplit('.').next()?;
    let describe = match name {
        "Quantity" => <Quantity as Schema>::describe,
        "RawExtension" | "FieldsV1" | "JSONSchemaProps" => <RawExtension as Schema>::describe,
        "JSON" => <JSON as Schema>::describe,
        _ => return None,
    };
    Some(describe(&mut SchemaGenerator::default()).to_value())
}
