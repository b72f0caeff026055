//! `isSorted`, `sum`, `min`, `max`, `indexOf` and `lastIndexOf` of lists, and `sets`.

use std::cmp::Ordering;

use cel::common::types::LIST_TYPE;
use cel::{Env, ExecutionError, Value};

use super::functions::{
    Args, Declared, FunctionResult, declare, fail, list, no_overload, to_result, values,
};

pub(super) fn register(env: &mut Env) {
    let method = |name, id, args, run| Declared {
        name,
        id,
        on: Some(LIST_TYPE),
        args,
        run,
    };
    let function = |name, run| Declared {
        name,
        id: name,
        on: None,
        args: 2,
        run,
    };
    declare(
        env,
        vec![
            method("isSorted", "list_is_sorted", 0, is_sorted),
            method("sum", "list_sum", 0, sum),
            method("min", "list_min", 0, min),
            method("max", "list_max", 0, max),
            method("indexOf", "list_index_of", 1, index_of),
            method("lastIndexOf", "list_last_index_of", 1, last_index_of),
            function("sets.contains", sets_contains),
            function("sets.equivalent", sets_equivalent),
            function("sets.intersects", sets_intersects),
        ],
    );
}

fn order(function: &str, a: &Value, b: &Value) -> Result<Ordering, ExecutionError> {
    let order = match (a, b) {
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        _ => a.partial_cmp(b),
    };
    order.ok_or_else(|| no_overload(function, &[a.clone(), b.clone()]))
}

fn is_sorted<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    for pair in list("isSorted", &values, 0)?.windows(2) {
        if let [a, b] = pair
            && order("isSorted", a, b)?.is_gt()
        {
            return to_result("isSorted", false);
        }
    }
    to_result("isSorted", true)
}

fn sum<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let mut items = list("sum", &values, 0)?.iter().cloned();
    // The sum of an empty list depends on the declared type, which is not known here.
    let first = items.next().unwrap_or(Value::Int(0));
    let total = items.try_fold(first, |total, item| total + item)?;
    to_result("sum", total)
}

fn extreme<'b, 'v>(function: &str, wanted: Ordering, args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (first, rest) = list(function, &values, 0)?
        .split_first()
        .ok_or_else(|| fail(function, format!("{function} called on empty list")))?;
    let mut best = first;
    for item in rest {
        if order(function, item, best)? == wanted {
            best = item;
        }
    }
    to_result(function, best.clone())
}

fn min<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    extreme("min", Ordering::Less, args)
}

fn max<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    extreme("max", Ordering::Greater, args)
}

fn place(place: Option<usize>) -> i64 {
    place.and_then(|p| i64::try_from(p).ok()).unwrap_or(-1)
}

fn index_of<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let items = list("indexOf", &values, 0)?;
    let found = items.iter().position(|item| Some(item) == values.get(1));
    to_result("indexOf", place(found))
}

fn last_index_of<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let items = list("lastIndexOf", &values, 0)?;
    let found = items.iter().rposition(|item| Some(item) == values.get(1));
    to_result("lastIndexOf", place(found))
}

fn sets_contains<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (all, some) = (
        list("sets.contains", &values, 0)?,
        list("sets.contains", &values, 1)?,
    );
    to_result("sets.contains", some.iter().all(|item| all.contains(item)))
}

fn sets_equivalent<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (a, b) = (
        list("sets.equivalent", &values, 0)?,
        list("sets.equivalent", &values, 1)?,
    );
    let same = a.iter().all(|item| b.contains(item)) && b.iter().all(|item| a.contains(item));
    to_result("sets.equivalent", same)
}

fn sets_intersects<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (a, b) = (
        list("sets.intersects", &values, 0)?,
        list("sets.intersects", &values, 1)?,
    );
    to_result("sets.intersects", a.iter().any(|item| b.contains(item)))
}
