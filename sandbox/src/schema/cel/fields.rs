use cel::IdedExpr;
use cel::common::ast::Expr;
use serde_json::{Map, Value};

use super::value::escape;
use crate::schema::rules::{Rule, RuleError};

type Json = Map<String, Value>;

/// Refuses fields that the schema does not have, as the API server's type checker does.
///
/// Only plain paths (`self.a.b`, `oldSelf.a`) are followed; the variables of macros are not typed.
pub(in crate::schema) fn check_fields(
    map: &Json,
    is_root: bool,
    rule: &Rule,
) -> Result<(), RuleError> {
    let check = Check {
        root: map,
        is_root,
        skip_old: rule.optional_old_self,
    };
    let programs = [
        ("rule", Some(&rule.program)),
        ("messageExpression", rule.message_program.as_ref()),
    ];
    for (member, program) in programs {
        if let Some(program) = program {
            check
                .walk(program.expression())
                .map_err(|text| RuleError { member, text })?;
        }
    }
    Ok(())
}

struct Check<'a> {
    root: &'a Json,
    is_root: bool,
    skip_old: bool,
}

/// What is known of the type of an expression.
#[derive(Clone, Copy)]
enum Known<'a> {
    Nothing,
    Schema(&'a Json, bool),
}

impl<'a> Check<'a> {
    fn walk(&self, expression: &IdedExpr) -> Result<Known<'a>, String> {
        match &expression.expr {
            Expr::Ident(name) if name == "self" || (name == "oldSelf" && !self.skip_old) => {
                Ok(Known::Schema(self.root, self.is_root))
            }
            Expr::Select(select) => match self.walk(&select.operand)? {
                Known::Schema(map, is_root) => field(map, is_root, &select.field),
                Known::Nothing => Ok(Known::Nothing),
            },
            Expr::Call(call) => {
                if let Some(target) = &call.target {
                    self.walk(target)?;
                }
                let mut first = Known::Nothing;
                for (i, argument) in call.args.iter().enumerate() {
                    let known = self.walk(argument)?;
                    if i == 0 {
                        first = known;
                    }
                }
                Ok(match first {
                    Known::Schema(map, _) if call.func_name == "_[_]" => inside(map),
                    _ => Known::Nothing,
                })
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.walk(element)?;
                }
                Ok(Known::Nothing)
            }
            Expr::Comprehension(all) => {
                self.walk(&all.iter_range)?;
                // A macro's variable may hide `self` only if it is named so.
                if all.iter_var != "self" {
                    self.walk(&all.loop_cond)?;
                    self.walk(&all.loop_step)?;
                    self.walk(&all.result)?;
                }
                Ok(Known::Nothing)
            }
            _ => Ok(Known::Nothing),
        }
    }
}

fn inside(map: &Json) -> Known<'_> {
    let inner = ["items", "additionalProperties"];
    match inner.iter().find_map(|name| map.get(*name)?.as_object()) {
        Some(inner) => Known::Schema(inner, false),
        None => Known::Nothing,
    }
}

fn field<'a>(map: &'a Json, is_root: bool, name: &str) -> Result<Known<'a>, String> {
    if let Some(additional) = map.get("additionalProperties") {
        return Ok(match additional.as_object() {
            Some(additional) => Known::Schema(additional, false),
            None => Known::Nothing,
        });
    }
    let is_resource =
        is_root || map.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    if is_resource && matches!(name, "apiVersion" | "kind" | "metadata") {
        return Ok(Known::Nothing);
    }
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind != "object" {
        return Ok(Known::Nothing);
    }
    let properties = map.get("properties").and_then(Value::as_object);
    let found = properties
        .into_iter()
        .flatten()
        .find(|(property, _)| escape(property).as_deref() == Some(name));
    match found.and_then(|(_, schema)| schema.as_object()) {
        Some(schema) => Ok(Known::Schema(schema, false)),
        None => Err(format!("compilation failed: undefined field '{name}'")),
    }
}
