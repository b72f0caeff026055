use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::check::{is_function, named_type};
use super::walk::qualified;

/// Refuses variables that an expression does not have.
///
/// It is for expressions whose types and functions are not known here.
///
/// # Errors
/// The text of the error.
pub(super) fn check(expression: &IdedExpr, variables: &[&str]) -> Result<(), String> {
    let mut names = Names {
        variables,
        bound: Vec::new(),
    };
    names.expression(expression)
}

struct Names<'a> {
    variables: &'a [&'a str],
    /// The variables of the surrounding macros.
    bound: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn expression(&mut self, expression: &'a IdedExpr) -> Result<(), String> {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.expression(&select.operand),
            Expr::List(list) => list.elements.iter().try_for_each(|e| self.expression(e)),
            Expr::Map(map) => self.entries(map.entries.iter().map(|e| &e.expr)),
            Expr::Struct(literal) => Err(undeclared(&literal.type_name)),
            Expr::Call(call) => {
                let mut arguments = call.args.iter();
                if let Some(target) = &call.target {
                    let namespace = qualified(target);
                    let is_whole = namespace
                        .is_some_and(|outer| is_function(&format!("{outer}.{}", call.func_name)));
                    if !is_whole {
                        self.expression(target)?;
                    }
                }
                arguments.try_for_each(|a| self.expression(a))
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
        let is_known = self.variables.contains(&name)
            || name.starts_with('@')
            || self.bound.contains(&name)
            || named_type(name).is_some();
        match is_known {
            true => Ok(()),
            false => Err(undeclared(name)),
        }
    }
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}
