use std::collections::HashMap;

use cel::common::ast::{EntryExpr, Expr};
use cel::{IdedExpr, Value};

use super::errors::Stopped;
use super::evaluation::{Evaluation, entry_map, literal};
use crate::schema::cel::check::Checked;

/// The values of parts that need no variables.
pub(in crate::schema::cel) type Constants = HashMap<u64, Value>;

const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "duration",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// Computes literals, lists and maps of literals, and conversions of literals.
///
/// # Errors
/// The text of the first conversion that fails.
pub(in crate::schema::cel) fn constants(checked: &Checked) -> Result<Constants, String> {
    let mut found = Constants::new();
    fold(checked, &checked.expression, &mut found)?;
    Ok(found)
}

fn fold(checked: &Checked, expression: &IdedExpr, found: &mut Constants) -> Result<(), String> {
    let value = match &expression.expr {
        Expr::Literal(value) => Some(literal(value)),
        Expr::Select(select) => {
            fold(checked, &select.operand, found)?;
            None
        }
        Expr::List(list) => {
            list.elements
                .iter()
                .try_for_each(|item| fold(checked, item, found))?;
            let items = list
                .elements
                .iter()
                .map(|item| found.get(&item.id).cloned());
            let items: Option<Vec<Value>> = items.collect();
            items
                .filter(|_| list.optional_indices.is_empty())
                .map(|items| Value::List(items.into()))
        }
        Expr::Map(map) => {
            let mut entries = Vec::new();
            let mut is_constant = true;
            for entry in &map.entries {
                let EntryExpr::MapEntry(entry) = &entry.expr else {
                    continue;
                };
                fold(checked, &entry.key, found)?;
                fold(checked, &entry.value, found)?;
                let (key, value) = (found.get(&entry.key.id), found.get(&entry.value.id));
                match key.zip(value) {
                    Some((key, value)) if !entry.optional => {
                        entries.push((key.clone(), value.clone()));
                    }
                    _ => is_constant = false,
                }
            }
            is_constant.then(|| entry_map(entries).ok()).flatten()
        }
        Expr::Call(call) => {
            if let Some(target) = &call.target {
                fold(checked, target, found)?;
            }
            call.args
                .iter()
                .try_for_each(|argument| fold(checked, argument, found))?;
            match call.args.as_slice() {
                [only]
                    if CONVERSIONS.contains(&call.func_name.as_str())
                        && call.target.is_none()
                        && found.contains_key(&only.id) =>
                {
                    Some(convert(checked, expression, found)?)
                }
                _ => None,
            }
        }
        Expr::Comprehension(all) => {
            for part in [
                &all.iter_range,
                &all.accu_init,
                &all.loop_cond,
                &all.loop_step,
                &all.result,
            ] {
                fold(checked, part, found)?;
            }
            None
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Struct(_) => None,
    };
    if let Some(value) = value {
        found.insert(expression.id, value);
    }
    Ok(())
}

fn convert(checked: &Checked, call: &IdedExpr, found: &Constants) -> Result<Value, String> {
    let mut evaluation = Evaluation::new(&checked.overloads, found, Vec::new(), u64::MAX);
    evaluation.evaluate(call).map_err(|stopped| match stopped {
        Stopped::Failed(text) => text,
        Stopped::TooExpensive => "a constant is too large".into(),
    })
}
