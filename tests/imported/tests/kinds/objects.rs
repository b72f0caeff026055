//! Objects of a definition, and their comparison.

// The sources of `testing::round_trips`, which make objects of a schema.
#[path = "../../../../framework/src/testing/round_trips/generate.rs"]
mod generate;
#[path = "../../../../framework/src/testing/round_trips/pattern.rs"]
mod pattern;

use imported::{Kind, Project};
use pilothouse_sandbox::internals::schema::Schema;
use serde_json::{Value, json};

/// A version of a definition as its project has it.
pub(crate) struct Original {
    pub(crate) definition: Value,
    pub(crate) version: Value,
    json: Value,
    schema: Schema,
}

/// The schema, as an API server reads it.
pub(crate) fn schema(json: &Value, of: &str) -> Schema {
    Schema::from_json(json).unwrap_or_else(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{of}: {errors:?}")
    })
}

impl Original {
    pub(crate) fn of(project: &Project, kind: &Kind) -> Self {
        let (_, version) = kind.api_version.split_once('/').unwrap();
        let mut all = project.definitions.iter();
        let definition = all.find(|one| one["spec"]["names"]["kind"] == kind.kind);
        let definition = definition.unwrap().clone();
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let version = versions.iter().find(|one| one["name"] == version).unwrap();
        let version = version.clone();
        let json = version["schema"]["openAPIV3Schema"].clone();
        Self {
            schema: schema(&json, kind.kind),
            json,
            version,
            definition,
        }
    }

    /// The schema of a field of the object.
    pub(crate) fn field(&self, name: &str) -> &Value {
        &self.json["properties"][name]
    }

    /// Whether an object has fields beside spec and status.
    pub(crate) fn has_others(&self) -> bool {
        let usual = ["apiVersion", "kind", "metadata", "spec", "status"];
        let mut fields = self.json["properties"].as_object().into_iter().flatten();
        fields.any(|(name, _)| !usual.contains(&name.as_str()))
    }

    /// The object as an API server stores it: without unknown fields, and with defaults. `None` if the server refuses it.
    pub(crate) fn stored(&self, object: &Value) -> Option<Value> {
        let mut object = object.clone();
        self.schema.prune(&mut object);
        self.schema.apply_defaults(&mut object);
        self.schema
            .validate(&object, None)
            .is_empty()
            .then_some(object)
    }

    /// An object that is made of the schema, and that an API server accepts. A foreign kind has it as a whole; other kinds have no field beside
    /// spec and status.
    pub(crate) fn object(&self, kind: &Kind, seed: u64) -> Option<Value> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut object = json!({
            "apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "made"},
        });
        for (field, schema) in self.json["properties"].as_object().into_iter().flatten() {
            let is_known = ["spec", "status"].contains(&field.as_str());
            if ["apiVersion", "kind", "metadata"].contains(&field.as_str())
                || (!is_known && kind.definition.is_some())
            {
                continue;
            }
            object[field] = generate::value(schema, &mut random)?;
        }
        self.stored(&object)
    }
}

/// Compares two objects. Numbers are equal if they have the same value, and `metadata` has the fields of Kubernetes.
pub(crate) fn same(one: &Value, other: &Value, what: &str) {
    let (mut one, mut other) = (one.clone(), other.clone());
    for object in [&mut one, &mut other] {
        without_empty_metadata(object);
        numbers(object);
    }
    assert_eq!(one, other, "{what}");
}

/// The object without the fields that are null.
pub(crate) fn without_nulls(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| (name.clone(), without_nulls(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The server sets this field, and a sample may have it as null.
fn without_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| !value.is_null());
    }
}

fn numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64() {
                *value = json!(float);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(numbers),
        Value::Object(fields) => fields.values_mut().for_each(numbers),
        _ => {}
    }
}
