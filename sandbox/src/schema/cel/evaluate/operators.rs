use std::cmp::Ordering;

use cel::Value;

use super::errors::{Result, Stopped};
use crate::schema::cel::values::TypeValue;

/// Computes an arithmetic operator.
pub(super) fn arithmetic(operator: &str, left: Value, right: Value) -> Result<Value> {
    Ok(match (operator, left, right) {
        ("_+_", Value::Bytes(mut left), Value::Bytes(right)) => {
            std::sync::Arc::make_mut(&mut left).extend_from_slice(&right);
            Value::Bytes(left)
        }
        ("_+_", left, right) => (left + right)?,
        ("_-_", left, right) => (left - right)?,
        ("_*_", left, right) => (left * right)?,
        ("_/_", left, right) => (left / right)?,
        (_, left, right) => (left % right)?,
    })
}

/// Computes `<`, `<=`, `>` or `>=`.
pub(super) fn compare(operator: &str, left: &Value, right: &Value) -> Result<Value> {
    let order = order(left, right)?;
    Ok(Value::Bool(match operator {
        "_<_" => order.is_lt(),
        "_<=_" => order.is_le(),
        "_>_" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn order(left: &Value, right: &Value) -> Result<Ordering> {
    match (left, right) {
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        (Value::Null, _) => Err(Stopped::no_overload()),
        (Value::Float(number), _) | (_, Value::Float(number)) if number.is_nan() => {
            Err(Stopped::failed("NaN values cannot be ordered"))
        }
        (left, right) => left.partial_cmp(right).ok_or_else(Stopped::no_overload),
    }
}

pub(super) fn negate(value: &Value) -> Result<Value> {
    match value {
        Value::Int(number) => {
            let negated = number.checked_neg().map(Value::Int);
            negated.ok_or_else(|| Stopped::failed("integer overflow"))
        }
        Value::Float(number) => Ok(Value::Float(-number)),
        _ => Err(Stopped::no_overload()),
    }
}

/// The type of a value, as a value.
pub(super) fn type_value(name: &str) -> Value {
    Value::Opaque(std::sync::Arc::new(TypeValue(name.to_owned())))
}
