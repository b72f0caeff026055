use std::borrow::Cow;

use cel::Value;
use serde_json::Value as Json;

use super::cel::{Stopped, optional};
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

/// What all rules together may cost for one object.
const BUDGET: u64 = 10_000_000;

/// Evaluates every rule of a schema on an object and the object that it replaces.
pub(super) fn validate(schema: &Schema, object: &Json, old: Option<&Json>, found: &mut Findings) {
    if !schema.has_rules() {
        return;
    }
    let root = root(schema);
    let ratchet = Ratchet::of(old.map(|old| Correlated::top(schema, object, old)));
    let mut walk = Walk {
        found,
        budget: BUDGET,
    };
    // Whether all rules were evaluated shows in the errors.
    let _ = stack::large(|| walk.node(&root, object, old, ratchet, &FieldPath::Root));
}

/// The node of a whole object. Rules at the root also see the fields that every object has.
fn root(schema: &Schema) -> Cow<'_, Node> {
    let node = schema.node();
    if node.rules.is_empty() {
        return Cow::Borrowed(node);
    }
    let mut root = node.clone();
    root.embedded_resource = true;
    for name in ["apiVersion", "kind"] {
        root.properties
            .entry(name.into())
            .or_insert_with(|| Schema::here(text_node()));
    }
    root.properties
        .insert("metadata".into(), Schema::here(meta_node()));
    Cow::Owned(root)
}

/// Evaluates the rules of a part of a schema, as if the value were new.
pub(super) fn validate_part(
    schema: &Schema,
    value: &Json,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let mut found = Findings::default();
    let mut walk = Walk {
        found: &mut found,
        budget: BUDGET,
    };
    let _ = stack::large(|| walk.node(schema.node(), value, None, Ratchet::default(), at));
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

/// No further rule is evaluated.
struct Ended;

struct Walk<'f> {
    found: &'f mut Findings,
    /// What the remaining rules may cost.
    budget: u64,
}

impl Walk<'_> {
    fn node(
        &mut self,
        node: &Node,
        value: &Json,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
        at: &FieldPath<'_>,
    ) -> Result<(), Ended> {
        if value.is_null() {
            return Ok(());
        }
        if !node.rules.is_empty() {
            let old = old.filter(|old| !old.is_null());
            self.rules(node, value, old, ratchet, at)?;
        }
        match value {
            Json::Object(map) => {
                for (name, value) in map {
                    let old = old.and_then(|o| o.get(name));
                    if let Some(schema) = node.properties.get(name.as_str()) {
                        let ratchet = ratchet.key(name);
                        self.node(schema.node(), value, old, ratchet, &at.child(name))?;
                    } else if let Some(schema) = node.entries() {
                        let ratchet = ratchet.key(name);
                        self.node(schema.node(), value, old, ratchet, &at.key(name))?;
                    }
                }
            }
            Json::Array(items) => {
                let Some(schema) = &node.items else {
                    return Ok(());
                };
                for (i, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| counterpart(node, item, old, i));
                    let ratchet = ratchet.index(i);
                    self.node(schema.node(), item, old, ratchet, &at.index(i))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules(
        &mut self,
        node: &Node,
        value: &Json,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
        at: &FieldPath<'_>,
    ) -> Result<(), Ended> {
        let place = Place {
            kind: node.kind.map_or("", SchemaType::name),
            value,
            at,
        };
        if self.budget == 0 {
            return self.end(&place, OUT_OF_BUDGET.into());
        }
        let values = Values {
            this: convert(Some(node), value),
            old: old.map(|old| convert(Some(node), old)),
        };
        for rule in &node.rules {
            let uses_old = rule.program.uses_old_self;
            if uses_old && values.old.is_none() && !rule.optional_old_self {
                continue;
            }
            let text = rule.message.as_deref().unwrap_or(&rule.source);
            let outcome = rule.program.evaluate(values.variables(rule));
            let Some(budget) = self.budget.checked_sub(outcome.cost) else {
                return self.end(&place, OUT_OF_BUDGET.into());
            };
            self.budget = budget;
            match outcome.result {
                Ok(Value::Bool(true)) => {}
                Ok(_) => {
                    let detail = self.detail(rule, &values);
                    let (error, ends) = match detail {
                        Ok(detail) => (place.failure(rule, detail), false),
                        Err(why) => (FieldError::invalid(place.of(rule), place.kind, why), true),
                    };
                    if !uses_old && ratchet.is_unchanged() {
                        self.found.warnings.push(error.to_string());
                    } else {
                        self.found.errors.push(error);
                    }
                    if ends {
                        return Err(Ended);
                    }
                }
                Err(Stopped::TooExpensive) => {
                    let text = format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost \
                         exceeds limit for rule: {text}"
                    );
                    return self.end(&place, text);
                }
                Err(Stopped::Failed(why)) if why.starts_with("no such overload") => {
                    let text = format!(
                        "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
                    );
                    self.found.errors.push(place.error(text));
                }
                Err(Stopped::Failed(why)) => {
                    let text = format!("{why} evaluating rule: {text}");
                    self.found.errors.push(place.error(text));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, place: &Place<'_>, text: String) -> Result<(), Ended> {
        self.found.errors.push(place.error(text));
        Err(Ended)
    }

    /// Why a rule refuses a value.
    ///
    /// # Errors
    /// The text of the error if its message costs too much.
    fn detail(&mut self, rule: &Rule, values: &Values) -> Result<String, String> {
        if let Some(program) = &rule.message_program {
            let outcome = program.evaluate(values.variables(rule));
            let Some(budget) = self.budget.checked_sub(outcome.cost) else {
                return Err("messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".into());
            };
            match outcome.result {
                Err(Stopped::TooExpensive) => {
                    return Err(format!(
                        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                        rule.message_source
                    ));
                }
                Ok(Value::String(text)) if is_usable(text.trim()) => {
                    self.budget = budget;
                    return Ok(text.trim().to_owned());
                }
                _ => self.budget = budget,
            }
        }
        Ok(match &rule.message {
            Some(message) => message.to_string(),
            None => format!("failed rule: {}", rule.source),
        })
    }
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The values of the variables.
struct Values {
    this: Value,
    old: Option<Value>,
}

impl Values {
    fn variables(&self, rule: &Rule) -> Vec<(&'static str, Value)> {
        let mut variables = vec![("self", self.this.clone())];
        if rule.optional_old_self {
            variables.push(("oldSelf", optional(self.old.clone())));
        } else if let Some(old) = &self.old {
            variables.push(("oldSelf", old.clone()));
        }
        variables
    }
}

/// The value that a rule is about.
struct Place<'a> {
    kind: &'static str,
    value: &'a Json,
    at: &'a FieldPath<'a>,
}

impl Place<'_> {
    /// An error of which the value does not matter.
    fn error(&self, text: String) -> FieldError {
        FieldError::invalid(self.at, self.kind, text)
    }

    /// The field that a rule names.
    fn of(&self, rule: &Rule) -> String {
        match &rule.field_path {
            Some(path) => self.at.child(path).to_string(),
            None => self.at.to_string(),
        }
    }

    fn failure(&self, rule: &Rule, detail: String) -> FieldError {
        let field = self.of(rule);
        let is_scalar = !self.value.is_object() && !self.value.is_array();
        let shown = is_scalar.then(|| self.value.clone());
        match rule.reason {
            FieldErrorKind::Required => FieldError::required(field, detail),
            FieldErrorKind::Forbidden => FieldError::forbidden(field, detail),
            // A duplicate has no detail.
            FieldErrorKind::Duplicate => FieldError::new(rule.reason, field, shown, ""),
            kind => FieldError::new(kind, field, shown, detail),
        }
    }
}

/// Whether the result of a `messageExpression` can be shown.
fn is_usable(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n')
}
