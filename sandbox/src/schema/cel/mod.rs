//! CEL rules: `x-kubernetes-validations`.

mod collections;
mod evaluate;
mod fields;
mod functions;
mod library;
mod names;
mod network;
mod quantity;
mod regexes;
mod result;
#[cfg(test)]
mod tests;
mod urls;
mod value;

use std::sync::{Arc, LazyLock};

use cel::Env;

use crate::stack;

pub(crate) use cel::Program;
pub(super) use evaluate::{validate, validate_part};
pub(super) use fields::check_fields;

/// The functions a rule may use.
fn env() -> &'static Arc<Env> {
    static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(library::env()));
    &ENV
}

/// The longest source that is compiled, in bytes. A chain of operators is a tree as deep as it is long.
const LONGEST: usize = 32 * 1024;

/// Compiles an expression over `self` and `oldSelf`.
///
/// Unknown variables and functions are refused here, by name: at evaluation it would be too late, and a rule that is
/// never evaluated would look as if it held. Everything that walks an expression is recursive, so that deep ones are refused too.
/// That they are deep shows when they have been parsed, which takes a large stack however short they are: in a debug build
/// a pair of parentheses takes 170 KB.
pub(super) fn compile(source: &str) -> Result<Program, String> {
    if source.len() > LONGEST {
        return Err(format!(
            "compilation failed: expression of {} bytes is longer than {LONGEST}",
            source.len()
        ));
    }
    stack::large(|| compile_here(source))
}

fn compile_here(source: &str) -> Result<Program, String> {
    let program = env()
        .compile(source)
        .map_err(|e| format!("compilation failed: {}", one_line(&e.to_string())))?;
    names::check(program.expression()).map_err(|e| format!("compilation failed: {e}"))?;
    Ok(program)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
