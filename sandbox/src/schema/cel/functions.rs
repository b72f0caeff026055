//! Helpers of the modules that define functions.

use cel::common::functions::Function;
use cel::common::types::{DYN_TYPE, Type};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError, Value};

pub(super) type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
pub(super) type FunctionResult<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// The declaration of a function or method.
pub(super) struct Declared {
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// The type of a method's receiver; `None` for a function.
    pub(super) on: Option<Type>,
    pub(super) args: usize,
    pub(super) run: Function,
}

/// Declares functions whose arguments may have any type. The functions check their arguments themselves.
pub(super) fn declare(env: &mut Env, functions: Vec<Declared>) {
    for function in functions {
        let args = (0..function.args).map(|_| DYN_TYPE).collect();
        let Declared { name, id, run, .. } = function;
        // A duplicate declaration is ignored here. The tests of the library find it.
        let _ = match function.on {
            Some(on) => env.add_member_overload(name, id, on, args, run),
            None => env.add_overload(name, id, args, run),
        };
    }
}

/// The arguments as values.
pub(super) fn values(args: Args<'_, '_>) -> Result<Vec<Value>, ExecutionError> {
    args.iter().map(|a| Value::try_from(&**a)).collect()
}

/// A value as the result of a function.
pub(super) fn to_result<'b, 'v>(function: &str, value: impl Into<Value>) -> FunctionResult<'b, 'v> {
    let value: Box<dyn Val> = value
        .into()
        .try_into()
        .map_err(|_| fail(function, "the result is not a value"))?;
    Ok(CowVal::Owned(value))
}

pub(super) fn fail(function: &str, text: impl ToString) -> ExecutionError {
    ExecutionError::function_error(function, text)
}

/// The string argument at this position.
pub(super) fn text(
    function: &str,
    values: &[Value],
    place: usize,
) -> Result<String, ExecutionError> {
    match values.get(place) {
        Some(Value::String(text)) => Ok(text.to_string()),
        _ => Err(no_overload(function, values)),
    }
}

/// The list argument at this position.
pub(super) fn list<'a>(
    function: &str,
    values: &'a [Value],
    place: usize,
) -> Result<&'a [Value], ExecutionError> {
    match values.get(place) {
        Some(Value::List(list)) => Ok(list),
        _ => Err(no_overload(function, values)),
    }
}

pub(super) fn no_overload(function: &str, values: &[Value]) -> ExecutionError {
    let types = values.iter().map(|v| v.type_of().to_string()).collect();
    ExecutionError::no_such_overload(function, types)
}
