use serde_json::{Map, Value, json};

use super::costs::{self, Total};
use super::json::{fields, is_true, object, text};
use crate::schema::cel::Declared;
use crate::schema::error::{FieldError, FieldErrorKind};
use crate::schema::path::FieldPath;
use crate::schema::rule::Rule;

type Json = Map<String, Value>;

/// Compiles every rule, and estimates what all of them cost.
pub(super) fn check(map: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let mut rules = Rules {
        total: Total::default(),
        errors,
    };
    let around = Around {
        is_resource: true,
        uncorrelated: None,
        occurs: Some(1),
    };
    rules.node(map, at, around);
    rules.total.check(at, rules.errors);
}

/// What the schemas around a schema say.
#[derive(Clone, Copy)]
struct Around<'a> {
    is_resource: bool,
    /// The list in which old and new values cannot be matched.
    uncorrelated: Option<&'a str>,
    /// How often the value may occur in an object. `None` is without limit.
    occurs: Option<u64>,
}

struct Rules<'e> {
    total: Total,
    errors: &'e mut Vec<FieldError>,
}

impl Rules<'_> {
    fn node(&mut self, map: &Json, at: &FieldPath<'_>, around: Around<'_>) {
        let rules = map.get("x-kubernetes-validations");
        let rules = rules.and_then(Value::as_array).filter(|r| !r.is_empty());
        if let Some(rules) = rules {
            let at = at.child("x-kubernetes-validations");
            match Declared::of_self(map, around.is_resource) {
                Some(declared) => {
                    for (i, json) in rules.iter().enumerate() {
                        self.rule(json, &declared, &at.index(i), around);
                    }
                }
                None => self.errors.push(FieldError::new(
                    FieldErrorKind::Internal,
                    at,
                    None,
                    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert \
                     structural schema to CEL declarations",
                )),
            }
        }
        let here = at.to_string();
        let below = |child: &Json| Around {
            is_resource: is_true(child, "x-kubernetes-embedded-resource"),
            occurs: costs::occurrences(map, around.occurs),
            ..around
        };
        let properties = at.child("properties");
        for (name, property) in fields(map, "properties") {
            self.node(property, &properties.key(name), below(property));
        }
        if let Some(additional) = object(map, "additionalProperties") {
            let at = at.child("additionalProperties");
            self.node(additional, &at, below(additional));
        }
        if let Some(items) = object(map, "items") {
            let is_map = text(map, "x-kubernetes-list-type") == "map";
            let around = Around {
                uncorrelated: around.uncorrelated.or((!is_map).then_some(&*here)),
                ..below(items)
            };
            self.node(items, &at.child("items"), around);
        }
    }

    fn rule(&mut self, json: &Value, declared: &Declared, at: &FieldPath<'_>, around: Around<'_>) {
        let rule = match Rule::read(json, declared) {
            Ok(rule) => rule,
            Err(error) => {
                let at = at.child(error.member);
                self.errors
                    .push(FieldError::invalid(at, shown(json), error.text));
                return;
            }
        };
        let times = around.occurs.unwrap_or_else(|| declared.cardinality());
        let cost = rule.program.largest_cost.saturating_mul(times);
        self.total
            .add(&at.child("rule"), "estimated rule cost", cost, self.errors);
        if let Some(message) = &rule.message_program {
            let cost = message.largest_cost;
            let name = "estimated messageExpression cost";
            self.total
                .add(&at.child("messageExpression"), name, cost, self.errors);
        }
        old_self(&rule, json, at, around.uncorrelated, self.errors);
    }
}

fn old_self(
    rule: &Rule,
    json: &Value,
    at: &FieldPath<'_>,
    uncorrelated: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    if rule.program.uses_old_self {
        if let Some(place) = uncorrelated {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"
            );
            let source = text_of(json, "rule");
            errors.push(FieldError::invalid(at.child("rule"), source, detail));
        }
    } else if let Some(map) = json
        .as_object()
        .filter(|m| m.contains_key("optionalOldSelf"))
    {
        let value = is_true(map, "optionalOldSelf");
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(
            at.child("optionalOldSelf"),
            value,
            detail,
        ));
    }
}

/// A rule as errors show it: with the names of the server's internal type.
fn shown(json: &Value) -> Value {
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
    json!({
        "Rule": text("rule"),
        "Message": text("message"),
        "MessageExpression": text("messageExpression"),
        "Reason": json.get("reason"),
        "FieldPath": text("fieldPath"),
        "OptionalOldSelf": json.get("optionalOldSelf"),
    })
}

fn text_of(json: &Value, name: &str) -> Value {
    json.get(name).cloned().unwrap_or(Value::Null)
}
