use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::library;

/// The deepest expression that is evaluated.
const MAX_DEPTH: usize = 128;

/// The names that an expression may use.
pub(super) struct Known<'a> {
    pub(super) variables: &'a [&'a str],
    /// Whether functions are not checked.
    pub(super) any_function: bool,
}

impl Known<'_> {
    /// The names of a rule in a schema.
    pub(super) fn of_rule() -> Self {
        Self {
            variables: &["self", "oldSelf"],
            any_function: false,
        }
    }
}

/// Refuses unknown variables and functions, and expressions that are too deep to be evaluated.
pub(super) fn check(expression: &IdedExpr, known: &Known<'_>) -> Result<(), String> {
    let mut names = Names {
        known,
        bound: Vec::new(),
        depth: 0,
    };
    names.expression(expression)
}

struct Names<'a> {
    known: &'a Known<'a>,
    /// The variables of the surrounding macros.
    bound: Vec<&'a str>,
    /// The number of surrounding expressions.
    depth: usize,
}

impl<'a> Names<'a> {
    fn expression(&mut self, expression: &'a IdedExpr) -> Result<(), String> {
        if self.depth == MAX_DEPTH {
            return Err(format!(
                "expression is nested deeper than {MAX_DEPTH} levels"
            ));
        }
        self.depth += 1;
        let checked = self.inner(expression);
        self.depth -= 1;
        checked
    }

    fn inner(&mut self, expression: &'a IdedExpr) -> Result<(), String> {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.expression(&select.operand),
            Expr::List(list) => list.elements.iter().try_for_each(|e| self.expression(e)),
            Expr::Map(map) => self.entries(map.entries.iter().map(|e| &e.expr)),
            Expr::Struct(literal) => Err(format!(
                "undeclared reference to type '{}'",
                literal.type_name
            )),
            Expr::Call(call) => {
                if let Some(target) = &call.target {
                    if let Some(namespace) = qualified(target)
                        && library::has_function(&format!("{namespace}.{}", call.func_name))
                    {
                        return call.args.iter().try_for_each(|a| self.expression(a));
                    }
                    self.expression(target)?;
                    if !self.known.any_function && !library::has_method(&call.func_name) {
                        return Err(undeclared(&call.func_name));
                    }
                } else if !self.known.any_function && !library::has_function(&call.func_name) {
                    return Err(undeclared(&call.func_name));
                }
                call.args.iter().try_for_each(|a| self.expression(a))
            }
            Expr::Comprehension(all) => {
                self.expression(&all.iter_range)?;
                self.expression(&all.accu_init)?;
                let before = self.bound.len();
                self.bound.push(&all.accu_var);
                self.bound.push(&all.iter_var);
                self.bound.extend(all.iter_var2.as_deref());
                let inner = [&all.loop_cond, &all.loop_step, &all.result];
                let result = inner.into_iter().try_for_each(|e| self.expression(e));
                self.bound.truncate(before);
                result
            }
        }
    }

    fn entries(&mut self, entries: impl Iterator<Item = &'a EntryExpr>) -> Result<(), String> {
        for entry in entries {
            match entry {
                EntryExpr::MapEntry(entry) => {
                    self.expression(&entry.key)?;
                    self.expression(&entry.value)?;
                }
                EntryExpr::StructField(field) => self.expression(&field.value)?,
            }
        }
        Ok(())
    }

    fn variable(&self, name: &str) -> Result<(), String> {
        let known = self.known.variables.contains(&name)
            || name.starts_with('@')
            || self.bound.contains(&name)
            || library::TYPES.contains(&name);
        if known { Ok(()) } else { Err(undeclared(name)) }
    }
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

/// `a.b` as text, if the expression consists of names only.
fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}
