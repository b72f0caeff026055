use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue};
use serde_json::{Map, Value};

/// Functions whose result is not a boolean.
const OTHERS: [&str; 30] = [
    "_+_",
    "_-_",
    "_*_",
    "_/_",
    "_%_",
    "-_",
    "size",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "duration",
    "timestamp",
    "type",
    "indexOf",
    "lastIndexOf",
    "lowerAscii",
    "upperAscii",
    "replace",
    "split",
    "join",
    "substring",
    "trim",
    "sum",
    "min",
    "max",
    "find",
    "findAll",
    "charAt",
];

/// Whether an expression over a value of the schema returns a boolean. Returns `None` if its form does not tell.
pub(in crate::schema) fn is_boolean(
    expression: &IdedExpr,
    schema: &Map<String, Value>,
) -> Option<bool> {
    match &expression.expr {
        Expr::Literal(literal) => Some(matches!(literal, LiteralValue::Boolean(_))),
        Expr::List(_) | Expr::Map(_) => Some(false),
        Expr::Ident(_) | Expr::Select(_) => {
            let kind = place(expression, schema)?.get("type")?.as_str()?;
            Some(kind == "boolean")
        }
        Expr::Call(call) if call.func_name == "_?_:_" => is_boolean(call.args.get(1)?, schema),
        Expr::Call(call) => OTHERS.contains(&call.func_name.as_str()).then_some(false),
        _ => None,
    }
}

/// The schema at a path over `self`.
fn place<'a>(
    expression: &IdedExpr,
    schema: &'a Map<String, Value>,
) -> Option<&'a Map<String, Value>> {
    match &expression.expr {
        Expr::Ident(name) if name == "self" || name == "oldSelf" => Some(schema),
        Expr::Select(select) if !select.test => {
            let outer = place(&select.operand, schema)?;
            outer.get("properties")?.get(&select.field)?.as_object()
        }
        _ => None,
    }
}
