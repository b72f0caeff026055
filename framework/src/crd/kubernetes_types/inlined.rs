use std::{borrow::Cow, marker::PhantomData};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON,
    apimachinery::pkg::{api::resource::Quantity, runtime::RawExtension},
};
use schemars::{JsonSchema, SchemaGenerator};
#[cfg(feature = "k8s-descriptions")]
use serde_json::Map;
use serde_json::Value;

use super::merging;
#[cfg(not(feature = "k8s-descriptions"))]
use super::published;
use crate::crd::Schema;

/// The name of a type of Kubernetes in its OpenAPI document, such as `io.k8s.api.core.v1.PodSpec`.
pub trait Published {
    /// Its path in k8s-openapi, such as `api::core::v1::PodSpec`.
    const PATH: &'static str;
}

fn name<T: Published>() -> String {
    let name = T::PATH.replace("::", ".").replace('_', "-");
    format!("io.k8s.{name}")
}

/// Describes `T` as the OpenAPI document of Kubernetes does, with what a structural schema needs besides.
///
/// * References are replaced by what they refer to. A type in itself is an open object there.
/// * Types that the document describes too loosely have the framework's schema: quantities and open objects.
/// * `metadata` is not required, because no API requires it and k8s-openapi reads an object without it.
/// * Lists and maps have the rules by which several appliers share them.
#[derive(Debug)]
pub struct Inlined<T>(PhantomData<T>);

#[cfg(not(feature = "k8s-descriptions"))]
impl<T: Published> JsonSchema for Inlined<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::PATH)
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        inlined(&name::<T>(), &published::schema)
    }
}

/// With its descriptions, which only k8s-openapi has.
#[cfg(feature = "k8s-descriptions")]
impl<T: Published + JsonSchema> JsonSchema for Inlined<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::PATH)
    }

    fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
        let all = described_by_k8s_openapi::<T>();
        inlined(&name::<T>(), &|name| all.get(name).cloned())
    }
}

/// The schema of `T` and of each type in it, by their names.
#[cfg(feature = "k8s-descriptions")]
pub(super) fn described_by_k8s_openapi<T: JsonSchema>() -> Map<String, Value> {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.transforms.clear();
    });
    // The generator of the caller inlines every type, which hides the names by which types are found here.
    let mut generator = SchemaGenerator::new(settings);
    generator.subschema_for::<T>();
    generator.take_definitions(false)
}

/// The schema of a type by its name, with the types in it. Without a schema it is an open object.
fn inlined(name: &str, find: &dyn Fn(&str) -> Option<Value>) -> schemars::Schema {
    let mut inliner = Inliner {
        find,
        open: Vec::new(),
    };
    schemars::Schema::try_from(inliner.find(name)).unwrap_or_default()
}

/// Replaces references by what they refer to.
struct Inliner<'a> {
    find: &'a dyn Fn(&str) -> Option<Value>,
    /// The types that the present place is in.
    open: Vec<String>,
}

impl Inliner<'_> {
    fn inline(&mut self, schema: Value) -> Value {
        let Value::Object(mut schema) = schema else {
            return schema;
        };
        let reference = schema.remove("$ref");
        let name = reference.as_ref().and_then(Value::as_str);
        if let Some(name) = name.and_then(|name| name.strip_prefix("#/$defs/")) {
            if let Value::Object(found) = self.find(name) {
                for (key, value) in found {
                    // The description of the field stands beside the reference.
                    schema.entry(key).or_insert(value);
                }
            }
            return Value::Object(schema);
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for property in properties.values_mut() {
                *property = self.inline(property.take());
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
                *inner = self.inline(inner.take());
            }
        }
        Value::Object(schema)
    }

    /// The schema of a type by its name. A type in itself is an open object, because a structural schema has an end.
    fn find(&mut self, name: &str) -> Value {
        if self.open.iter().any(|open| open == name) {
            return open_object();
        }
        if let Some(own) = own(name) {
            return own;
        }
        let Some(found) = (self.find)(name) else {
            return open_object();
        };
        self.open.push(name.to_owned());
        let mut found = self.inline(found);
        if let Value::Object(found) = &mut found {
            merging::add(name, found);
        }
        self.open.pop();
        found
    }
}

fn open_object() -> Value {
    <RawExtension as Schema>::describe(&mut SchemaGenerator::default()).to_value()
}

/// The framework's schema of a type that k8s-openapi describes too loosely.
fn own(name: &str) -> Option<Value> {
    let name = name.rsplit('.').next()?;
    let describe = match name {
        "Quantity" => <Quantity as Schema>::describe,
        "RawExtension" | "FieldsV1" | "JSONSchemaProps" => return Some(open_object()),
        "JSON" => <JSON as Schema>::describe,
        _ => return None,
    };
    Some(describe(&mut SchemaGenerator::default()).to_value())
}
