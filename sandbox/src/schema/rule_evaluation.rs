use cel::{Context, ExecutionError, Program, Value};
use serde_json::Value as Json;

use super::cel as cel_rules;
use super::correlated::{Correlated, Ratchet, counterpart};
use super::error::{FieldError, FieldErrorKind};
use super::node::{Node, Schema, SchemaType};
use super::operations::Findings;
use super::path::FieldPath;
use super::rule::Rule;
use super::rule_values::convert;
use crate::stack;

/// The longest result of a `messageExpression`, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// Evaluates every rule of a schema on an object and the object that it replaces.
pub(super) fn validate(schema: &Schema, object: &Json, old: Option<&Json>, found: &mut Findings) {
    stack::large(|| validate_here(schema, object, old, found));
}

fn validate_here(schema: &Schema, object: &Json, old: Option<&Json>, found: &mut Findings) {
    let node = schema.node();
    let ratchet = Ratchet::of(old.map(|old| Correlated::top(schema, object, old)));
    if node.rules.is_empty() {
        walk(node, object, old, ratchet, &FieldPath::Root, found);
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
    walk(&root, object, old, ratchet, &FieldPath::Root, found);
}

/// Evaluates the rules of a part of a schema, as if the value were new.
pub(super) fn validate_part(
    schema: &Schema,
    value: &Json,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let mut found = Findings::default();
    stack::large(|| {
        walk(
            schema.node(),
            value,
            None,
            Ratchet::default(),
            at,
            &mut found,
        )
    });
    errors.append(&mut found.errors);
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
    ratchet: Ratchet<'_>,
    at: &FieldPath<'_>,
    found: &mut Findings,
) {
    if value.is_null() {
        return;
    }
    if !node.rules.is_empty() {
        evaluate(node, value, old, ratchet, at, found);
    }
    match value {
        Json::Object(map) => {
            for (name, value) in map {
                let old = old.and_then(|o| o.get(name));
                if let Some(schema) = node.properties.get(name.as_str()) {
                    let ratchet = ratchet.key(name);
                    walk(schema.node(), value, old, ratchet, &at.child(name), found);
                } else if let Some(schema) = node.entries() {
                    let ratchet = ratchet.key(name);
                    walk(schema.node(), value, old, ratchet, &at.key(name), found);
                }
            }
        }
        Json::Array(items) => {
            let Some(schema) = &node.items else { return };
            for (i, item) in items.iter().enumerate() {
                let old = old.and_then(|old| counterpart(node, item, old, i));
                let ratchet = ratchet.index(i);
                walk(schema.node(), item, old, ratchet, &at.index(i), found);
            }
        }
        _ => {}
    }
}

fn evaluate(
    node: &Node,
    value: &Json,
    old: Option<&Json>,
    ratchet: Ratchet<'_>,
    at: &FieldPath<'_>,
    found: &mut Findings,
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
            Ok(_) => {
                let error = failure(rule, &context, value, at);
                if !rule.uses_old_self && ratchet.is_unchanged() {
                    found.warnings.push(error.to_string());
                } else {
                    found.errors.push(error);
                }
            }
            Err(e @ ExecutionError::NoSuchOverload(_)) => found.errors.push(FieldError::invalid(
                at,
                kind,
                format!(
                    "'{e}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
                ),
            )),
            Err(e) => {
                let detail = format!("{} evaluating rule: {text}", explain(&e));
                found.errors.push(FieldError::invalid(at, kind, detail));
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
