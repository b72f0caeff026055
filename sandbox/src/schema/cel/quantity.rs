//! Quantities: `500m`, `1Gi`, `1e3`.

use std::cmp::Ordering;
use std::sync::Arc;

use cel::common::types::Type;
use cel::objects::Opaque;
use cel::{Env, ExecutionError, Value};

use super::functions::{
    Args, Declared, FunctionResult, declare, fail, no_overload, text, to_result, values,
};

const TYPE: &str = "kubernetes.Quantity";

/// A quantity in billionths, which is the precision of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quantity(i128);

const UNIT: i128 = 1_000_000_000;

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &str {
        TYPE
    }
}

pub(super) fn register(env: &mut Env) {
    let method = |name, id, args, run| Declared {
        name,
        id,
        on: Some(Type::new_opaque_type(TYPE)),
        args,
        run,
    };
    let function = |name, run| Declared {
        name,
        id: name,
        on: None,
        args: 1,
        run,
    };
    declare(
        env,
        vec![
            function("quantity", quantity),
            function("isQuantity", is_quantity),
            function("sign", sign),
            method("isInteger", "quantity_is_integer", 0, is_integer),
            method("asInteger", "quantity_as_integer", 0, as_integer),
            method("asApproximateFloat", "quantity_as_float", 0, as_float),
            method("compareTo", "quantity_compare_to", 1, compare_to),
            method("isGreaterThan", "quantity_is_greater_than", 1, is_greater),
            method("isLessThan", "quantity_is_less_than", 1, is_less),
            method("add", "quantity_add", 1, add),
            method("sub", "quantity_sub", 1, sub),
        ],
    );
}

fn parse(text: &str) -> Option<Quantity> {
    let digits_end = text
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || (*i == 0 && matches!(c, '+' | '-'))))
        .map_or(text.len(), |(i, _)| i);
    let (number, suffix) = text.split_at(digits_end);
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let binary = |power: u32| Some((1024_i128.pow(power), 0));
    let decimal = |power: i32| Some((1, power));
    let (factor, power) = match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power = exponent.strip_prefix(['e', 'E'])?;
            let power: i32 = power.parse().ok()?;
            (-18..=18).contains(&power).then_some((1, power))
        }
    }?;
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let mut value = digits.checked_mul(factor)?.checked_mul(UNIT)?;
    let mut scale = power - i32::try_from(fraction.len()).ok()?;
    while scale > 0 {
        value = value.checked_mul(10)?;
        scale -= 1;
    }
    while scale < 0 {
        // Parts smaller than a billionth are rounded up.
        value = value / 10 + i128::from(value % 10 != 0);
        scale += 1;
    }
    Some(Quantity(if negative { -value } else { value }))
}

fn of(quantity: Quantity) -> Value {
    Value::Opaque(Arc::new(quantity))
}

fn get(function: &str, values: &[Value], place: usize) -> Result<Quantity, ExecutionError> {
    match values.get(place) {
        Some(Value::Opaque(opaque)) => opaque.downcast_ref::<Quantity>().copied(),
        _ => None,
    }
    .ok_or_else(|| no_overload(function, values))
}

fn quantity<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let text = text("quantity", &values, 0)?;
    let quantity = parse(&text).ok_or_else(|| {
        let pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";
        fail(
            "quantity",
            format!("quantities must match the regular expression '{pattern}'"),
        )
    })?;
    to_result("quantity", of(quantity))
}

fn is_quantity<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let text = text("isQuantity", &values, 0)?;
    to_result("isQuantity", parse(&text).is_some())
}

fn sign<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let sign = get("sign", &values(args)?, 0)?.0.signum();
    to_result("sign", i64::try_from(sign).unwrap_or_default())
}

fn whole(quantity: Quantity) -> Option<i64> {
    let is_whole = quantity.0 % UNIT == 0;
    is_whole.then(|| i64::try_from(quantity.0 / UNIT).ok())?
}

fn is_integer<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let quantity = get("isInteger", &values(args)?, 0)?;
    to_result("isInteger", whole(quantity).is_some())
}

fn as_integer<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let quantity = get("asInteger", &values(args)?, 0)?;
    let whole = whole(quantity);
    let whole = whole.ok_or_else(|| fail("asInteger", "cannot convert value to integer"))?;
    to_result("asInteger", whole)
}

fn as_float<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let quantity = get("asApproximateFloat", &values(args)?, 0)?;
    to_result("asApproximateFloat", quantity.0 as f64 / UNIT as f64)
}

fn order(function: &str, args: Args<'_, '_>) -> Result<Ordering, ExecutionError> {
    let values = values(args)?;
    Ok(get(function, &values, 0)?
        .0
        .cmp(&get(function, &values, 1)?.0))
}

fn compare_to<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let order = order("compareTo", args)?;
    to_result("compareTo", order as i64)
}

fn is_greater<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let order = order("isGreaterThan", args)?;
    to_result("isGreaterThan", order.is_gt())
}

fn is_less<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let order = order("isLessThan", args)?;
    to_result("isLessThan", order.is_lt())
}

fn combine<'b, 'v>(function: &str, sign: i128, args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let left = get(function, &values, 0)?;
    let right = match values.get(1) {
        Some(Value::Int(right)) => Quantity(i128::from(*right) * UNIT),
        _ => get(function, &values, 1)?,
    };
    let total = left.0.checked_add(sign * right.0);
    let total = total.ok_or_else(|| fail(function, "quantity overflow"))?;
    to_result(function, of(Quantity(total)))
}

fn add<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    combine("add", 1, args)
}

fn sub<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    combine("sub", -1, args)
}
