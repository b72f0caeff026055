use std::sync::{Arc, LazyLock};

use cel::{Env, Program};

use super::names::Known;
use super::{library, names};
use crate::stack;

/// The environment with all functions of a rule.
pub(in crate::schema) fn env() -> &'static Arc<Env> {
    static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(library::env()));
    &ENV
}

/// The longest source that is compiled, in bytes. A chain of operators is a tree as deep as it is long.
const MAX_SOURCE: usize = 32 * 1024;

/// Compiles an expression over `self` and `oldSelf`.
///
/// It refuses unknown variables and functions by name: at evaluation it would be too late, and a rule that is never
/// evaluated would seem to hold. It refuses deep expressions because everything that walks an expression is recursive.
/// The depth is known only after parsing, which needs a large stack even for a short source: in a debug build a pair of
/// parentheses takes 170 KB.
///
/// # Errors
/// The text of the error: the source is too long or too deep, or does not parse, or has an unknown name.
pub(in crate::schema) fn compile(source: &str) -> Result<Program, String> {
    compile_with(source, &Known::of_rule(), one_line)
}

/// Checks that an expression over these variables compiles. Where it is evaluated it may have functions that are not
/// known here, so functions are not checked.
///
/// # Errors
/// The text of the error: the source is too long or too deep, or does not parse, or has an unknown variable.
pub(crate) fn compile_expression(source: &str, variables: &[&str]) -> Result<(), String> {
    compile_with_variables(source, variables).map(|_| ())
}

/// Compiles an expression over these variables.
///
/// # Errors
/// As [`compile`].
pub(super) fn compile_with_variables(source: &str, variables: &[&str]) -> Result<Program, String> {
    let known = Known {
        variables,
        any_function: true,
    };
    compile_with(source, &known, lines)
}

fn compile_with(
    source: &str,
    known: &Known<'_>,
    shown: fn(&str) -> String,
) -> Result<Program, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!(
            "compilation failed: expression of {} bytes is longer than {MAX_SOURCE}",
            source.len()
        ));
    }
    stack::large(|| compile_here(source, known, shown))
}

fn compile_here(
    source: &str,
    known: &Known<'_>,
    shown: fn(&str) -> String,
) -> Result<Program, String> {
    let program = env()
        .compile(source)
        .map_err(|e| format!("compilation failed: {}", shown(&e.to_string())))?;
    names::check(program.expression(), known).map_err(|e| format!("compilation failed: {e}"))?;
    Ok(program)
}

/// The text of a parser with the place of the error below it, as a real server shows it.
fn lines(text: &str) -> String {
    text.trim_end().replace("\n|", "\n |")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
