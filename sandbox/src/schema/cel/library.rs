//! The functions of Kubernetes' CEL environment: the standard ones, the extensions that `cel` has, and those of the
//! API server that stand in the modules beside this one.

use std::sync::{Arc, LazyLock};

use cel::objects::OptionalValue;
use cel::{Context, Env, Program, Value, extensions};

use super::{collections, network, quantity, regexes, urls};

/// Names that stand for types and namespaces.
pub(super) const TYPES: [&str; 16] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "string",
    "strings",
    "timestamp",
    "type",
    "uint",
    "optional_type",
];

const FUNCTIONS: [&str; 17] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "lists.range",
    "matches",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "size",
    "string",
    "strings.quote",
    "timestamp",
    "type",
    "uint",
];

const METHODS: [&str; 35] = [
    "charAt",
    "contains",
    "distinct",
    "endsWith",
    "flatten",
    "format",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "indexOf",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "matches",
    "or",
    "orValue",
    "replace",
    "reverse",
    "size",
    "slice",
    "sort",
    "split",
    "startsWith",
    "substring",
    "trim",
    "upperAscii",
    "value",
];

/// Whether a function of that name exists.
pub(super) fn has_function(name: &str) -> bool {
    let known = [
        &FUNCTIONS[..],
        &collections::FUNCTIONS,
        &quantity::FUNCTIONS,
        &urls::FUNCTIONS,
        &network::FUNCTIONS,
    ];
    is_operator(name) || known.iter().any(|names| names.contains(&name))
}

/// Whether a method of that name exists on some type.
pub(super) fn has_method(name: &str) -> bool {
    let known = [
        &METHODS[..],
        &collections::METHODS,
        &quantity::METHODS,
        &regexes::METHODS,
        &urls::METHODS,
        &network::METHODS,
    ];
    is_operator(name) || known.iter().any(|names| names.contains(&name))
}

/// The parser spells operators with signs, and names what only macros may call with an `@`.
fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains('@')
}

/// The environment rules run in.
pub(super) fn env() -> Env {
    let mut env = Env::stdlib();
    // What a duplicate declaration would leave out is caught by the tests of this module.
    let _ = env.add_extension(extensions::strings);
    let _ = env.add_extension(extensions::lists);
    collections::register(&mut env);
    quantity::register(&mut env);
    regexes::register(&mut env);
    urls::register(&mut env);
    network::register(&mut env);
    env
}

/// The text as a CEL timestamp, if it is one.
pub(super) fn timestamp(text: &str) -> Option<Value> {
    static PARSE: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("timestamp(text)").ok());
    parse(PARSE.as_ref()?, text)
}

/// The text as a CEL duration, if it is one.
pub(super) fn duration(text: &str) -> Option<Value> {
    static PARSE: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("duration(text)").ok());
    parse(PARSE.as_ref()?, text)
}

fn parse(program: &Program, text: &str) -> Option<Value> {
    let mut context = Context::with_env(super::env().clone());
    context.add_variable_from_value("text", text.to_owned());
    program.execute(&context).ok()
}

/// `optional.of(value)`, or `optional.none()`.
pub(super) fn optional(value: Option<Value>) -> Value {
    let optional = match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    };
    Value::Opaque(Arc::new(optional))
}
