use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr};

/// Calls a function with an expression and with each of its parts.
pub(super) fn each(expression: &IdedExpr, visit: &mut impl FnMut(&IdedExpr)) {
    visit(expression);
    parts(expression)
        .into_iter()
        .for_each(|part| each(part, visit));
}

/// The number of expressions inside of one another.
///
/// It does not go deeper than `most`.
pub(super) fn is_deeper(expression: &IdedExpr, most: usize) -> bool {
    most == 0
        || parts(expression)
            .into_iter()
            .any(|part| is_deeper(part, most - 1))
}

/// The parts of an expression.
pub(super) fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    let mut parts = Vec::new();
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => parts.push(&*select.operand),
        Expr::List(list) => parts.extend(&list.elements),
        Expr::Map(map) => entries(&map.entries, &mut parts),
        Expr::Struct(literal) => entries(&literal.entries, &mut parts),
        Expr::Call(call) => {
            parts.extend(call.target.as_deref());
            parts.extend(&call.args);
        }
        Expr::Comprehension(all) => parts.extend([
            &all.iter_range,
            &all.accu_init,
            &all.loop_cond,
            &all.loop_step,
            &all.result,
        ]),
    }
    parts
}

fn entries<'a>(entries: &'a [IdedEntryExpr], parts: &mut Vec<&'a IdedExpr>) {
    for entry in entries {
        match &entry.expr {
            EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
            EntryExpr::StructField(field) => parts.push(&field.value),
        }
    }
}

/// `a.b` as text, if the expression consists of names only.
pub(super) fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}
