use cel::{Context, ExecutionError, Program, Value};
use serde_json::Value as Json;

use super::cel as cel_rules;
use super::error::{FieldError, FieldErrorKind};
use super::node::{ListType, MapType, Node, Schema, SchemaType};
use super::path::FieldPath;
use super::rule::Rule;
use super::rule_values::convert;
use crate::stack;

/// The longest result of a `messageExpression`, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// Evaluates every rule of a schema on an object and the object that it replaces.
pub(super) fn validate(
    schema: &Schema,
    object: &Json,
    old: Option<&Json>,
    errors: &mut Vec<FieldError>,
) {
    stack::large(|| validate_here(schema, object, old, errors));
}

fn validate_here(schema: &Schema, object: &Json, old: Option<&Json>, errors: &mut Vec<FieldError>) {
    let node = schema.node();
    if node.rules.is_empty() {
        walk(node, object, old, &FieldPath::Root, errors);
        return;
    }
    // Rules at the root also see the fields that every object has.
    let mut root = node.clone();
    root.embedded_resource = true;
    for name in ["apiVersion", "kind"] {
        root.properties
            .entry(name.into())
            .or_insert_with(|| Schema::here(text_node()));
    }
    root.properties
        .insert("metadata".into(), Schema::here(meta_node()));
    walk(&root, object, old, &FieldPath::Root, errors);
}

/// Evaluates the rules of a part of a schema, as if the value were new.
pub(super) fn validate_part(
    schema: &Schema,
    value: &Json,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    stack::large(|| walk(schema.node(), value, None, at, errors));
}

fn text_node() -> Node {
    Node {
        kind: Some(SchemaType::String),
        ..Node::default()
    }
}

/// The schema of the metadata as rules see it: only the names.
fn meta_node() -> Node {
    let mut node = Node {
        kind: Some(SchemaType::Object),
        ..Node::default()
    };
    for name in ["name", "generateName"] {
        let schema = Schema::here(text_node());
        node.properties.insert(name.into(), schema);
    }
    node
}

fn walk(
    node: &Node,
    value: &Json,
    old: Option<&Json>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    if value.is_null() {
        return;
    }
    if !node.rules.is_empty() {
        evaluate(node, value, old, at, errors);
    }
    match value {
        Json::Object(map) => {
            let old = old.filter(|_| node.map_type != Some(MapType::Atomic));
            for (name, value) in map {
                let old = old.and_then(|o| o.get(name));
                if let Some(schema) = node.properties.get(name.as_str()) {
                    walk(schema.node(), value, old, &at.child(name), errors);
                } else if let Some(schema) = node.entries() {
                    walk(schema.node(), value, old, &at.key(name), errors);
                }
            }
        }
        Json::Array(items) => {
            let Some(schema) = &node.items else { return };
            for (i, item) in items.iter().enumerate() {
                let old = old.and_then(|old| counterpart(node, item, old));
                walk(schema.node(), item, old, &at.index(i), errors);
            }
        }
        _ => {}
    }
}

/// The item that an item replaces. Items can be matched only in lists that are maps.
fn counterpart<'a>(node: &Node, item: &Json, old: &'a Json) -> Option<&'a Json> {
    if node.list_type != Some(ListType::Map) {
        return None;
    }
    let mut same = old.as_array()?.iter().filter(|other| {
        let keys = &node.list_map_keys;
        keys.iter().all(|k| other.get(&**k) == item.get(&**k))
    });
    same.next()
}

fn evaluate(
    node: &Node,
    value: &Json,
    old: Option<&Json>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let this = convert(Some(node), value);
    let before = old.filter(|o| !o.is_null()).map(|o| convert(Some(node), o));
    let kind = node.kind.map_or("", SchemaType::name);
    for rule in &node.rules {
        if rule.uses_old_self && before.is_none() && !rule.optional_old_self {
            continue;
        }
        let text = rule.message.as_deref().unwrap_or(&rule.source);
        let context = context(rule, &this, before.as_ref());
        match rule.program.execute(&context) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => errors.push(failure(rule, &context, value, at)),
            Err(e @ ExecutionError::NoSuchOverload(_)) => errors.push(FieldError::invalid(
                at,
                kind,
                format!(
                    "'{e}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
                ),
            )),
            Err(e) => {
                let detail = format!("{} evaluating rule: {text}", explain(&e));
                errors.push(FieldError::invalid(at, kind, detail));
            }
        }
    }
}

fn explain(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        other => other.to_string(),
    }
}

fn context<'v>(rule: &Rule, this: &Value, before: Option<&Value>) -> Context<'v, 'v> {
    let mut context = Context::with_env(cel_rules::env().clone());
    context.add_variable_from_value("self", this.clone());
    if rule.optional_old_self {
        let optional = cel_rules::optional(before.cloned());
        context.add_variable_from_value("oldSelf", optional);
    } else if let Some(before) = before {
        context.add_variable_from_value("oldSelf", before.clone());
    }
    context
}

fn failure(rule: &Rule, context: &Context<'_, '_>, value: &Json, at: &FieldPath<'_>) -> FieldError {
    let detail = rule
        .message_program
        .as_ref()
        .and_then(|program| message(program, context))
        .or_else(|| rule.message.as_ref().map(|m| m.to_string()))
        .unwrap_or_else(|| format!("failed rule: {}", rule.source));
    let field = match &rule.field_path {
        Some(path) => at.child(path).to_string(),
        None => at.to_string(),
    };
    let shown = (!value.is_object() && !value.is_array()).then(|| value.clone());
    match rule.reason {
        FieldErrorKind::Required => FieldError::required(field, detail),
        FieldErrorKind::Forbidden => FieldError::forbidden(field, detail),
        // A duplicate has no detail.
        FieldErrorKind::Duplicate => FieldError::new(rule.reason, field, shown, ""),
        kind => FieldError::new(kind, field, shown, detail),
    }
}

/// The result of a `messageExpression`, if it is usable.
fn message(program: &Program, context: &Context<'_, '_>) -> Option<String> {
    let Ok(Value::String(text)) = program.execute(context) else {
        return None;
    };
    let text = text.trim();
    let usable = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains(['\n', '\r']);
    usable.then(|| text.to_owned())
}
