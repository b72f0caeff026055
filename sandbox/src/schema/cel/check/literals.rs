use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use regex::Regex;

use super::checker::Checked;
use super::issues::Issues;
use crate::schema::cel::library;
use crate::schema::cel::types::Type;
use crate::schema::cel::walk::parts;
use crate::schema::pattern::go_pattern;

/// Finds literals that cannot be right.
pub(super) fn check(checked: &Checked, issues: &mut Issues) {
    part(checked, &checked.expression, false, issues);
}

/// Checks an expression. Lists in the arguments of `format` may have items of several types.
fn part(checked: &Checked, expression: &IdedExpr, in_format: bool, issues: &mut Issues) {
    let mut in_format = in_format;
    match &expression.expr {
        Expr::Call(call) => {
            if let Some(first) = call.args.first()
                && let Expr::Literal(literal) = &first.expr
                && !is_right(&call.func_name, literal)
            {
                issues.add(first.id, format!("invalid {} argument", call.func_name));
            }
            in_format |= call.func_name == "format";
        }
        Expr::List(list) if !in_format => {
            let types = list.elements.iter().enumerate().map(|(i, item)| {
                let is_optional = list.optional_indices.contains(&i);
                (item, present(checked, item, is_optional))
            });
            // Only the first is shown.
            one_type(types, 1, issues);
        }
        Expr::Map(map) if !in_format => {
            let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => Some(entry),
                EntryExpr::StructField(_) => None,
            });
            let keys = entries
                .clone()
                .map(|e| (&e.key, present(checked, &e.key, false)));
            one_type(keys, usize::MAX, issues);
            let values = entries.map(|e| (&e.value, present(checked, &e.value, e.optional)));
            one_type(values, usize::MAX, issues);
        }
        _ => {}
    }
    for inner in parts(expression) {
        part(checked, inner, in_format, issues);
    }
}

/// The type of an item that is there.
fn present(checked: &Checked, item: &IdedExpr, is_optional: bool) -> Type {
    let found = checked.type_of(item).clone();
    match is_optional {
        true => found.unwrap_optional().0,
        false => found,
    }
}

fn is_right(function: &str, literal: &LiteralValue) -> bool {
    let LiteralValue::String(text) = literal else {
        return true;
    };
    let text = text.inner();
    match function {
        "duration" => library::duration(text).is_some(),
        "timestamp" => library::timestamp(text).is_some(),
        "matches" => Regex::new(&go_pattern(text)).is_ok(),
        _ => true,
    }
}

fn one_type<'a>(
    parts: impl Iterator<Item = (&'a IdedExpr, Type)>,
    most: usize,
    issues: &mut Issues,
) {
    let mut parts = parts;
    let Some((_, first)) = parts.next() else {
        return;
    };
    let others = parts.filter(|(_, found)| *found != first).take(most);
    for (part, found) in others {
        let text = format!("expected type '{first}' but found '{found}'");
        issues.add(part.id, text);
    }
}
