//! Checks whether JSON fits the Go types of a real server, and produces the decoder's error text if not.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::canonical_quantity;
use super::printed::{dynamic_type, json_kind};
use super::time;
use super::types::{Field, Type, fields, package_and_name};

/// A value that the Go types of a real server cannot hold.
///
/// [`Display`](fmt::Display) writes the text of the JSON decoder.
#[derive(Debug, PartialEq)]
pub(crate) enum Mistyped {
    /// A value of another JSON type.
    Type {
        /// The surrounding struct and the fields that lead to the value; `None` for the decoded value itself.
        field: Option<String>,
        found: Value,
        expected: Expected,
    },
    /// A string that its type cannot parse.
    Text(String),
}

/// The expected type, with its Go name.
#[derive(Debug, PartialEq)]
pub(crate) enum Expected {
    Struct(String),
    List(String),
    Map(String),
    /// The basic type and its Go name.
    Simple(String, String),
}

impl Expected {
    fn of(kind: &Type) -> Self {
        let name = kind.name();
        match kind {
            Type::Struct(_) => Self::Struct(name),
            Type::List(..) | Type::Bytes => Self::List(name),
            Type::Map(..) => Self::Map(name),
            Type::Basic(basic, _) => Self::Simple(basic.to_string(), name),
            Type::Own(_) => Self::Simple(name.clone(), name),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Struct(name) | Self::List(name) | Self::Map(name) | Self::Simple(_, name) => name,
        }
    }
}

impl fmt::Display for Mistyped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, found, expected) = match self {
            Self::Text(text) => return out.write_str(text),
            Self::Type {
                field,
                found,
                expected,
            } => (field, found, expected),
        };
        write!(out, "json: cannot unmarshal {}", json_kind(found))?;
        let whole = matches!(expected, Expected::Simple(basic, _) if basic.starts_with("int"));
        if found.is_number() && whole {
            write!(out, " {found}")?;
        }
        let name = expected.name();
        match field {
            Some(field) => write!(out, " into Go struct field {field} of type {name}"),
            None => write!(out, " into Go value of type {name}"),
        }
    }
}

impl Mistyped {
    /// The text of the decoder of maps, through which strategic merge patches go.
    pub(crate) fn in_maps(&self) -> String {
        let (found, expected) = match self {
            Self::Text(text) => return text.clone(),
            Self::Type {
                found, expected, ..
            } => (found, expected),
        };
        let kind = match found {
            Value::Object(_) => "map",
            Value::Array(_) => "slice",
            other => dynamic_type(other),
        };
        match expected {
            Expected::Struct(_) => format!("cannot restore struct from: {kind}"),
            Expected::List(_) => format!("cannot restore slice from {kind}"),
            Expected::Map(_) => format!("cannot restore map from {kind}"),
            Expected::Simple(basic, name) => {
                let convertible =
                    found.is_number() && basic != "bool" || found.is_string() && basic == "string";
                if convertible {
                    format!("cannot convert {kind} to {name}")
                } else {
                    format!("unrecognized type: {name}")
                }
            }
        }
    }
}

/// The first value in an object that the Go type of this definition cannot hold.
pub(crate) fn mistyped(definition: &str, object: &Value) -> Option<Mistyped> {
    structure(definition, object, &mut Position::default()).err()
}

/// Like [`mistyped`], for `metadata` alone: the only typed part of a custom resource.
pub(crate) fn metadata_mistyped(metadata: &Value) -> Option<Mistyped> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    structure(META, metadata, &mut Position::default()).err()
}

/// The position of the decoder: the innermost struct, and the fields that lead to it from the object.
#[derive(Default)]
struct Position<'a> {
    within: String,
    fields: Vec<&'a str>,
}

impl Position<'_> {
    fn mismatch(&self, found: &Value, expected: Expected) -> Result<(), Mistyped> {
        let (within, fields) = (&self.within, self.fields.join("."));
        Err(Mistyped::Type {
            field: (!fields.is_empty()).then(|| format!("{within}.{fields}")),
            found: found.clone(),
            expected,
        })
    }
}

fn structure<'a>(name: &str, value: &'a Value, place: &mut Position<'a>) -> Result<(), Mistyped> {
    let object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) => object,
        other => return place.mismatch(other, Expected::Struct(package_and_name(name))),
    };
    let short = name.rsplit('.').next().unwrap_or(name);
    let outer = std::mem::replace(&mut place.within, short.into());
    for (key, value) in object {
        let known: Option<&Field> = fields(name).and_then(|fields| fields.get(key.as_str()));
        if let Some(field) = known {
            place.fields.push(key);
            check(&field.kind, value, place)?;
            place.fields.pop();
        }
    }
    place.within = outer;
    Ok(())
}

fn check<'a>(kind: &Type, value: &'a Value, place: &mut Position<'a>) -> Result<(), Mistyped> {
    if value.is_null() {
        return Ok(());
    }
    match (kind, value) {
        (Type::Struct(name), value) => structure(name, value, place),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter().try_for_each(|item| check(inner, item, place))
        }
        (Type::Map(inner, _), Value::Object(entries)) => entries
            .values()
            .try_for_each(|value| check(inner, value, place)),
        (Type::Bytes, Value::String(text)) => base64_text(text).map_err(Mistyped::Text),
        (Type::Own(name), value) => own(name, value),
        (Type::Basic(basic, _), value) if holds(basic, value) => Ok(()),
        (kind, other) => place.mismatch(other, Expected::of(kind)),
    }
}

fn holds(basic: &str, value: &Value) -> bool {
    match (basic, value) {
        ("string", Value::String(_)) | ("bool", Value::Bool(_)) | ("float64", Value::Number(_)) => {
            true
        }
        ("int32", Value::Number(number)) => {
            let number = number.as_i64().map(i32::try_from);
            matches!(number, Some(Ok(_)))
        }
        ("int64", Value::Number(number)) => number.as_i64().is_some(),
        _ => false,
    }
}

fn base64_text(text: &str) -> Result<(), String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    if STANDARD.decode(&text).is_ok() {
        return Ok(());
    }
    let wrong = |c: u8| !(c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'='));
    let place = text.bytes().position(wrong).unwrap_or(text.len());
    Err(format!("illegal base64 data at input byte {place}"))
}

/// A type with a JSON decoder of its own does not know its position.
fn own(name: &str, value: &Value) -> Result<(), Mistyped> {
    let anywhere = Position::default();
    let basic = |basic: &str| Expected::Simple(basic.into(), basic.into());
    match (name, value) {
        ("Time" | "MicroTime", Value::String(text)) => {
            time::parse(text, name == "MicroTime").map_err(Mistyped::Text)
        }
        ("Time" | "MicroTime", other) => anywhere.mismatch(other, basic("string")),
        ("Quantity", value) => {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            match canonical_quantity(&text) {
                Some(_) => Ok(()),
                None => Err(Mistyped::Text(QUANTITY.into())),
            }
        }
        ("IntOrString", Value::String(_)) => Ok(()),
        ("IntOrString", number) if holds("int32", number) => Ok(()),
        ("IntOrString", other) => anywhere.mismatch(other, basic("int32")),
        _ => Ok(()),
    }
}

/// The error for a text that is not a quantity.
pub(crate) const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(object: Value) -> String {
        let kinds = crate::builtin::kinds();
        let kind = kinds.iter().find(|kind| kind.kind == "Deployment").unwrap();
        crate::builtin::mistyped(kind, &object).unwrap().to_string()
    }

    #[test]
    fn a_value_of_another_type_is_named_with_its_field_and_type() {
        let container = |field: &str, value: Value| {
            error(json!({"spec": {"template": {"spec": {"containers": [{field: value}]}}}}))
        };
        let path = "spec.template.spec.containers";
        for (found, text) in [
            (
                error(json!({"spec": []})),
                "array into Go struct field Deployment.spec of type v1.DeploymentSpec".to_owned(),
            ),
            (
                error(json!({"spec": {"replicas": 1.5}})),
                "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32".into(),
            ),
            (
                error(json!({"spec": {"replicas": 4_294_967_296_i64}})),
                "number 4294967296 into Go struct field DeploymentSpec.spec.replicas of type int32"
                    .into(),
            ),
            (
                error(json!({"metadata": {"labels": {"a": 1}}})),
                "number into Go struct field ObjectMeta.metadata.labels of type string".into(),
            ),
            (
                error(json!([])),
                "array into Go value of type v1.Deployment".into(),
            ),
            (
                container("imagePullPolicy", json!(true)),
                format!(
                    "bool into Go struct field Container.{path}.imagePullPolicy of type v1.PullPolicy"
                ),
            ),
            (
                container("env", json!("x")),
                format!("string into Go struct field Container.{path}.env of type []v1.EnvVar"),
            ),
            (
                container("ports", json!([{"containerPort": "x"}])),
                format!(
                    "string into Go struct field ContainerPort.{path}.ports.containerPort of type int32"
                ),
            ),
        ] {
            assert_eq!(found, format!("json: cannot unmarshal {text}"));
        }
        let bad = container("resources", json!({"limits": {"cpu": "much"}}));
        assert_eq!(bad, QUANTITY);
    }

    #[test]
    fn nulls_and_unknown_fields_are_decoded() {
        let kinds = crate::builtin::kinds();
        for kind in &kinds {
            let object = json!({"metadata": null, "spec": null, "unknown": 1, "status": {"x": []}});
            assert_eq!(
                crate::builtin::mistyped(kind, &object),
                None,
                "{}",
                kind.kind
            );
        }
    }
}
