//! The functions of Kubernetes' CEL environment: the standard ones, the extensions of the `cel` crate, and the API
//! server's own, which are in the modules beside this one.

use std::sync::LazyLock;

use cel::{Context, Env, Program, Value, extensions};

use super::{collections, formats, macros, network, quantity, regexes, semver, urls};

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
    semver::register(&mut env);
    formats::register(&mut env);
    macros::register(&mut env);
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
