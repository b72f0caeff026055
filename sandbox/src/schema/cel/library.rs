//! The functions of Kubernetes' CEL environment: the standard ones, the extensions of the `cel` crate, and the API
//! server's own, which are in the modules beside this one.

use std::sync::{Arc, LazyLock};

use cel::objects::OptionalValue;
use cel::{Context, Env, Program, Value, extensions};

use super::{collections, network, quantity, regexes, urls};

/// Names of types and namespaces.
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

/// Whether a function of this name exists.
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

/// Whether a method of this name exists on any type.
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

/// The parser names operators by their signs, and functions that only macros may call with an `@`.
fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains('@')
}

/// The environment in which rules run.
pub(super) fn env() -> Env {
    let mut env = Env::stdlib();
    // A duplicate declaration is ignored here. The tests of this module find it.
    let _ = env.add_extension(extensions::strings);
    let _ = env.add_extension(extensions::lists);
    collections::register(&mut env);
    quantity::register(&mut env);
    regexes::register(&mut env);
    urls::register(&mut env);
    network::register(&mut env);
    env
}

/// The text as a CEL timestamp. Returns `None` if it is not one.
pub(in crate::schema) fn timestamp(text: &str) -> Option<Value> {
    static PARSE: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("timestamp(text)").ok());
    parse(PARSE.as_ref()?, text)
}

/// The text as a CEL duration. Returns `None` if it is not one.
pub(in crate::schema) fn duration(text: &str) -> Option<Value> {
    static PARSE: LazyLock<Option<Program>> =
        LazyLock::new(|| Program::compile("duration(text)").ok());
    parse(PARSE.as_ref()?, text)
}

fn parse(program: &Program, text: &str) -> Option<Value> {
    let mut context = Context::with_env(super::compile::env().clone());
    context.add_variable_from_value("text", text.to_owned());
    program.execute(&context).ok()
}

/// `optional.of(value)`, or `optional.none()`.
pub(in crate::schema) fn optional(value: Option<Value>) -> Value {
    let optional = match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    };
    Value::Opaque(Arc::new(optional))
}
