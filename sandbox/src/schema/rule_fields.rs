use cel::IdedExpr;
use cel::common::ast::Expr;
use serde_json::{Map, Value};

use super::cel::is_boolean;
use super::rule::{Rule, RuleError};
use super::rule_values::escape;

type Json = Map<String, Value>;

/// Refuses fields that the schema does not have, as the API server's type checker does.
///
/// It follows only plain paths (`self.a.b`, `oldSelf.a`). The variables of macros have no types here.
///
/// # Errors
/// [`RuleError`] with the text of the server's compiler.
pub(super) fn check_fields(map: &Json, is_root: bool, rule: &Rule) -> Result<(), RuleError> {
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
            let source = match member {
                "rule" => &rule.source,
                _ => rule.message_source.as_deref().unwrap_or_default(),
            };
            check
                .walk(program.expression())
                .map_err(|wrong| RuleError {
                    member,
                    text: wrong.describe(source),
                })?;
        }
    }
    if is_boolean(rule.program.expression(), map) == Some(false) {
        return Err(RuleError {
            member: "rule",
            text: "cel expression must evaluate to a bool".into(),
        });
    }
    Ok(())
}

/// A selection that the types do not allow.
struct Wrong {
    what: String,
    field: String,
}

impl Wrong {
    /// The text of the server's compiler, with the position of the dot before the field.
    fn describe(&self, source: &str) -> String {
        let dotted = format!(".{}", self.field);
        let is_whole = |at: &usize| {
            let rest = source.get(at + dotted.len()..).unwrap_or_default();
            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        let mut places = source.match_indices(&dotted).map(|(at, _)| at);
        let at = places.find(is_whole).unwrap_or(0);
        let before = source.get(..at).unwrap_or_default();
        let row = before.matches('\n').count();
        let line = source.lines().nth(row).unwrap_or_default();
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |text| text.chars().count());
        format!(
            "compilation failed: ERROR: <input>:{}:{}: {}\n | {line}\n | {}^",
            row + 1,
            column + 1,
            self.what,
            ".".repeat(column)
        )
    }
}

struct Check<'a> {
    root: &'a Json,
    is_root: bool,
    skip_old: bool,
}

/// The known type of an expression.
#[derive(Clone, Copy)]
enum Known<'a> {
    Nothing,
    Schema(&'a Json, bool),
}

impl<'a> Check<'a> {
    fn walk(&self, expression: &IdedExpr) -> Result<Known<'a>, Wrong> {
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
                // A macro's variable hides `self` only if it has that name.
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

fn field<'a>(map: &'a Json, is_root: bool, name: &str) -> Result<Known<'a>, Wrong> {
    let wrong = |what: String| Wrong {
        what,
        field: name.into(),
    };
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
    match kind {
        "object" => {}
        "string" if map.get("format").is_some() => return Ok(Known::Nothing),
        "string" | "boolean" => {
            let kind = if kind == "boolean" { "bool" } else { kind };
            return Err(wrong(format!(
                "type '{kind}' does not support field selection"
            )));
        }
        "integer" => return Err(wrong("type 'int' does not support field selection".into())),
        "number" => {
            return Err(wrong(
                "type 'double' does not support field selection".into(),
            ));
        }
        _ => return Ok(Known::Nothing),
    }
    let properties = map.get("properties").and_then(Value::as_object);
    let found = properties
        .into_iter()
        .flatten()
        .find(|(property, _)| escape(property).as_deref() == Some(name));
    match found.and_then(|(_, schema)| schema.as_object()) {
        Some(schema) => Ok(Known::Schema(schema, false)),
        None => Err(wrong(format!("undefined field '{name}'"))),
    }
}
