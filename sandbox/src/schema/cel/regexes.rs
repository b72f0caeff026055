//! `find` and `findAll`.

use std::sync::Arc;

use cel::common::types::STRING_TYPE;
use cel::{Env, ExecutionError, Value};
use regex::Regex;

use super::functions::{Args, Declared, FunctionResult, declare, fail, text, to_result, values};
use crate::schema::pattern::go_pattern;

pub(super) fn register(env: &mut Env) {
    let method = |name, id, args, run| Declared {
        name,
        id,
        on: Some(STRING_TYPE),
        args,
        run,
    };
    declare(
        env,
        vec![
            method("find", "string_find_string", 1, find),
            method("findAll", "string_find_all_string", 1, find_all),
            method("findAll", "string_find_all_string_int", 2, find_all),
        ],
    );
}

fn compile(function: &str, pattern: &str) -> Result<Regex, ExecutionError> {
    Regex::new(&go_pattern(pattern))
        .map_err(|_| fail(function, format!("illegal regex: {pattern}")))
}

fn find<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (all, pattern) = (text("find", &values, 0)?, text("find", &values, 1)?);
    let found = compile("find", &pattern)?.find(&all);
    let found = found.map(|m| m.as_str().to_owned());
    to_result("find", found.unwrap_or_default())
}

fn find_all<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let (all, pattern) = (text("findAll", &values, 0)?, text("findAll", &values, 1)?);
    let limit = match values.get(2) {
        Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let regex = compile("findAll", &pattern)?;
    let found = regex.find_iter(&all).take(limit);
    let found = found.map(|m| Value::String(Arc::new(m.as_str().to_owned())));
    to_result("findAll", Value::List(Arc::new(found.collect())))
}
