//! What the function modules share.

use cel::common::functions::Function;
use cel::common::types::{DYN_TYPE, Type};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError, Value};

pub(super) type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
pub(super) type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// A function or method, as it is declared.
pub(super) struct Declared {
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// The type it is a method of, if it is one.
    pub(super) on: Option<Type>,
    pub(super) args: usize,
    pub(super) run: Function,
}

/// Declares functions whose arguments may have any type; they check them themselves.
pub(super) fn declare(env: &mut Env, functions: Vec<Declared>) {
    for function in functions {
        let args = (0..function.args).map(|_| DYN_TYPE).collect();
        let Declared { name, id, run, .. } = function;
        // What a duplicate declaration would leave out is caught by the tests of the library.
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
pub(super) fn answer<'b, 'v>(function: &str, value: impl Into<Value>) -> Answer<'b, 'v> {
    let value: Box<dyn Val> = value
        .into()
        .try_into()
        .map_err(|_| fail(function, "the result is no value"))?;
    Ok(CowVal::Owned(value))
}

pub(super) fn fail(function: &str, text: impl ToString) -> ExecutionError {
    ExecutionError::function_error(function, text)
}

/// The text at that place of the arguments.
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

/// The list at that place of the arguments.
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
