//! What a schema says about the values of `object`, `oldObject` and `params`.
//!
//! Unlike `self` of a rule they keep the types that they have in JSON: a time is a text, and a number may be an integer. So what is not
//! certain is [`Type::Dyn`], and an expression that works is never refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};
use serde_json::Value;

use super::declare::{Declared, Object};
use super::made::OBJECT;
use super::types::Type;
use super::walk::each;

/// The type of the values of a schema. `name` is the place of the schema: `Website.spec`.
pub(super) fn type_of(schema: &Value, name: &str) -> Type {
    if is_open(schema) || schema["nullable"] == true {
        return Type::Dyn;
    }
    match schema["type"].as_str() {
        Some("array") => Type::list(type_of(&schema["items"], &format!("{name}[]"))),
        Some("object") => match (
            &schema["additionalProperties"],
            schema["properties"].as_object(),
        ) {
            (Value::Null | Value::Bool(false), Some(properties)) if !properties.is_empty() => {
                // Other names have no form as `object.name`.
                if !properties.keys().all(|name| is_identifier(name)) {
                    return Type::Dyn;
                }
                let fields = properties.iter().map(|(field, schema)| {
                    let of = type_of(schema, &format!("{name}.{field}"));
                    (field.clone(), Declared::of_type(of))
                });
                let fields: BTreeMap<_, _> = fields.collect();
                let name = name.to_owned();
                Type::Object(Arc::new(Object { name, fields }))
            }
            (values @ Value::Object(_), None) => {
                Type::map(Type::String, type_of(values, &format!("{name}{{}}")))
            }
            _ => Type::Dyn,
        },
        Some("string") => Type::String,
        Some("boolean") => Type::Bool,
        Some("integer") => Type::Int,
        _ => Type::Dyn,
    }
}

/// Whether a value may have more than the schema says.
fn is_open(schema: &Value) -> bool {
    let is_true = |key: &str| schema[key] == true;
    is_true("x-kubernetes-preserve-unknown-fields")
        || is_true("x-kubernetes-int-or-string")
        || is_true("x-kubernetes-embedded-resource")
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The fields of the objects that an expression makes, such as `Object.spec{replicas: 3}`, that the schema of the kind does not have.
pub(super) fn unknown_fields(expression: &IdedExpr, schema: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    each(expression, &mut |part| {
        let Expr::Struct(literal) = &part.expr else {
            return;
        };
        let Some(place) = literal.type_name.strip_prefix(OBJECT) else {
            return;
        };
        let mut steps = place.split('.').skip(1);
        let inner = |schema, step| properties(schema)?.get(step);
        let Some(at) = steps.try_fold(schema, inner) else {
            // The field in which it is says so.
            return;
        };
        let Some(known) = properties(at) else {
            return;
        };
        for entry in &literal.entries {
            if let EntryExpr::StructField(field) = &entry.expr
                && !known.contains_key(&field.field)
            {
                unknown.push(format!("{}.{}", literal.type_name, field.field));
            }
        }
    });
    unknown
}

/// The fields of a schema, or of the items of its lists, if there are no others.
fn properties(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    let is_map = schema["additionalProperties"].is_object();
    match schema["type"].as_str() {
        _ if is_open(schema) || is_map => None,
        Some("array") => properties(&schema["items"]),
        _ => schema["properties"].as_object(),
    }
}
