//! Whether values decode into the Go types that a real server has for its built-in kinds, and what it says if not.

use std::fmt;

use serde_json::Value;

use super::node::{Node, Schema, SchemaType};
use super::validate::integer;
use crate::builtin::canonical_quantity;
use crate::go;

/// A value that does not decode.
///
/// [`Display`](fmt::Display) is what Go's JSON decoder says.
#[derive(Debug, PartialEq)]
pub(crate) enum Mistyped {
    /// A value of another JSON type.
    Type {
        /// The struct around it and the fields that lead to it; nothing for the decoded value itself.
        field: Option<String>,
        found: Value,
        wanted: Wanted,
    },
    /// A text that its type refuses to read.
    Text(&'static str),
}

/// A Go type.
#[derive(Debug, PartialEq)]
pub(crate) enum Wanted {
    Struct(String),
    List(String),
    Map(String),
    Simple(String),
}

impl fmt::Display for Mistyped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, found, wanted) = match self {
            Self::Text(text) => return out.write_str(text),
            Self::Type {
                field,
                found,
                wanted,
            } => (field, found, wanted),
        };
        write!(out, "json: cannot unmarshal {}", go::json_kind(found))?;
        let (Wanted::Struct(name) | Wanted::List(name) | Wanted::Map(name) | Wanted::Simple(name)) =
            wanted;
        if found.is_number() && name.starts_with("int") {
            write!(out, " {found}")?;
        }
        match field {
            Some(field) => write!(out, " into Go struct field {field} of type {name}"),
            None => write!(out, " into Go value of type {name}"),
        }
    }
}

impl Mistyped {
    /// What the decoder of maps says, which strategic merge patches go through.
    pub(crate) fn in_maps(&self) -> String {
        let (found, wanted) = match self {
            Self::Text(text) => return (*text).to_owned(),
            Self::Type { found, wanted, .. } => (found, wanted),
        };
        let kind = match found {
            Value::Object(_) => "map",
            Value::Array(_) => "slice",
            other => go::dynamic_type(other),
        };
        match wanted {
            Wanted::Struct(_) => format!("cannot restore struct from: {kind}"),
            Wanted::List(_) => format!("cannot restore slice from {kind}"),
            Wanted::Map(_) => format!("cannot restore map from {kind}"),
            Wanted::Simple(name) => {
                let convertible =
                    found.is_number() && name != "bool" || found.is_string() && name == "string";
                if convertible {
                    format!("cannot convert {kind} to {name}")
                } else {
                    format!("unrecognized type: {name}")
                }
            }
        }
    }
}

/// The first value in `value` that does not decode as the schema's type.
pub(crate) fn mistyped(schema: &Schema, value: &Value) -> Option<Mistyped> {
    Walk::default().check(schema, value).err()
}

#[derive(Default)]
struct Walk<'a> {
    /// The names of fields from the root.
    path: Vec<&'a str>,
    /// The struct that holds the last of them.
    holder: &'a str,
}

impl<'a> Walk<'a> {
    fn check(&mut self, schema: &'a Schema, value: &'a Value) -> Result<(), Mistyped> {
        if value.is_null() {
            return Ok(());
        }
        let node = schema.node();
        match schema.name().map_or("", short) {
            "Quantity" => return quantity(value),
            "IntOrString" => {
                return match value {
                    Value::String(_) => Ok(()),
                    Value::Number(n) if is_integer("int32", n) => Ok(()),
                    other => Err(whole(other, "int32")),
                };
            }
            "Time" | "MicroTime" if !value.is_string() => return Err(whole(value, "string")),
            _ => {}
        }
        if node.preserve_unknown && node.kind != Some(SchemaType::Object) {
            return Ok(());
        }
        match (node.kind, value) {
            (Some(SchemaType::Object), Value::Object(fields)) => {
                let around = self.holder;
                for (name, value) in fields {
                    let Some(child) = node.field(name) else {
                        continue;
                    };
                    // The entries of a map are no fields.
                    let is_field = node.properties.contains_key(name.as_str());
                    if is_field {
                        self.path.push(name);
                        self.holder = schema.name().map_or("", short);
                    }
                    self.check(child, value)?;
                    if is_field {
                        self.path.pop();
                        self.holder = around;
                    }
                }
                Ok(())
            }
            (Some(SchemaType::Array), Value::Array(items)) => {
                let Some(schema) = &node.items else {
                    return Ok(());
                };
                items.iter().try_for_each(|item| self.check(schema, item))
            }
            (Some(SchemaType::String), Value::String(_))
            | (Some(SchemaType::Boolean), Value::Bool(_))
            | (Some(SchemaType::Number), Value::Number(_))
            | (None, _) => Ok(()),
            (Some(SchemaType::Integer), Value::Number(n)) if is_integer(format(node), n) => Ok(()),
            _ => Err(self.wrong(schema, value)),
        }
    }

    fn wrong(&self, schema: &Schema, found: &Value) -> Mistyped {
        let name = go_type(schema);
        let node = schema.node();
        let wanted = match node.kind {
            Some(SchemaType::Object) if node.properties.is_empty() => Wanted::Map(name),
            Some(SchemaType::Object) => Wanted::Struct(name),
            Some(SchemaType::Array) => Wanted::List(name),
            _ => Wanted::Simple(name),
        };
        let path = self.path.join(".");
        Mistyped::Type {
            field: (!path.is_empty()).then(|| format!("{}.{path}", self.holder)),
            found: found.clone(),
            wanted,
        }
    }
}

fn whole(found: &Value, wanted: &str) -> Mistyped {
    Mistyped::Type {
        field: None,
        found: found.clone(),
        wanted: Wanted::Simple(wanted.into()),
    }
}

fn quantity(value: &Value) -> Result<(), Mistyped> {
    const PATTERN: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let good = match value {
        Value::String(text) => canonical_quantity(text).is_some(),
        other => other.is_number(),
    };
    if good {
        Ok(())
    } else {
        Err(Mistyped::Text(PATTERN))
    }
}

/// The last part of a definition's name.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn format(node: &Node) -> &str {
    let checks = node.checks.as_ref();
    checks
        .and_then(|checks| checks.format.as_deref())
        .unwrap_or("int64")
}

fn is_integer(format: &str, number: &serde_json::Number) -> bool {
    let number = if number.is_f64() {
        None
    } else {
        integer(number)
    };
    number.is_some_and(|number| format != "int32" || i32::try_from(number).is_ok())
}

fn go_type(schema: &Schema) -> String {
    let node = schema.node();
    if let Some(name) = schema.name() {
        let mut parts = name.rsplit('.');
        let (name, package) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        return format!("{package}.{name}");
    }
    match node.kind {
        Some(SchemaType::String) if format(node) == "byte" => "[]uint8".into(),
        Some(SchemaType::String) => "string".into(),
        Some(SchemaType::Boolean) => "bool".into(),
        Some(SchemaType::Number) => "float64".into(),
        Some(SchemaType::Integer) => format(node).into(),
        Some(SchemaType::Array) => {
            let item = node.items.as_ref().map(go_type).unwrap_or_default();
            format!("[]{item}")
        }
        Some(SchemaType::Object) => {
            let entry = node.entries().map(go_type);
            format!(
                "map[string]{}",
                entry.unwrap_or_else(|| "interface {}".into())
            )
        }
        None => "interface {}".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(object: &Value) -> Option<String> {
        let kinds = crate::builtin::kinds();
        let kind = kinds.iter().find(|kind| kind.plural == "deployments")?;
        let schema = crate::builtin::schema(kind)?;
        mistyped(&schema, object).map(|wrong| wrong.to_string())
    }

    #[test]
    fn the_first_value_of_another_type_is_told_as_go_tells_it() {
        let of = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        let table = [
            (
                json!({"metadata": {"name": 5}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"metadata": "x"}),
                "json: cannot unmarshal string into Go struct field Deployment.metadata of type v1.ObjectMeta",
            ),
            (
                json!({"spec": {"replicas": 1.5}}),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                of(json!({"containers": {}})),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
            (
                of(json!({"containers": [{"image": true}]})),
                "json: cannot unmarshal bool into Go struct field Container.spec.template.spec.containers.image of type string",
            ),
            (
                of(json!({"containers": [{"resources": {"limits": {"cpu": "lots"}}}]})),
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        ];
        for (object, text) in table {
            assert_eq!(said(&object).as_deref(), Some(text));
        }
        let good =
            json!({"spec": {"replicas": null, "strategy": {"rollingUpdate": {"maxSurge": 1}}}});
        assert_eq!(said(&good), None);
    }
}
