use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::ast::Expr;
use cel::{Env, IdedExpr, Program, Value};

use super::check::{Checked, check};
use super::declare::Declared;
use super::evaluate::{Constants, Evaluation, Outcome, Variable, constants};
use super::types::Type;
use super::walk::{each, is_deeper};
use super::{cost, library, names};
use crate::stack;

/// The environment with all functions of a rule.
pub(super) fn env() -> &'static Arc<Env> {
    static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(library::env()));
    &ENV
}

/// The longest source that is compiled, in bytes. A chain of operators is a tree as deep as it is long.
const MAX_SOURCE: usize = 32 * 1024;

/// The deepest expression that is evaluated.
const MAX_DEPTH: usize = 128;

/// The most that one evaluation of an expression may cost.
const MAX_COST: u64 = 1_000_000;

/// An expression that is ready to be evaluated.
pub(super) struct Executable {
    pub(super) expression: IdedExpr,
    overloads: HashMap<u64, Vec<&'static str>>,
    constants: Constants,
}

impl Executable {
    /// # Errors
    /// The text of the first conversion of a literal that fails.
    pub(super) fn new(checked: Checked) -> Result<Self, String> {
        let constants = constants(&checked)?;
        let Checked {
            expression,
            overloads,
            ..
        } = checked;
        Ok(Self {
            expression,
            overloads,
            constants,
        })
    }

    pub(super) fn evaluate<'a>(&'a self, variables: Vec<Variable<'a>>) -> Outcome {
        let evaluation = Evaluation::new(&self.overloads, &self.constants, variables, MAX_COST);
        evaluation.run(&self.expression)
    }
}

/// A rule or message of a schema that is ready to be evaluated.
pub(crate) struct Compiled {
    program: Executable,
    /// The most that an evaluation costs, as estimated from the schema.
    pub(in crate::schema) largest_cost: u64,
    pub(in crate::schema) uses_old_self: bool,
}

/// What an expression is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    /// A rule, which must return a boolean.
    Rule,
    /// A message, which must be a text.
    Message,
}

impl Purpose {
    fn result(self) -> (Type, &'static str) {
        match self {
            Self::Rule => (Type::Bool, "cel expression must evaluate to a bool"),
            Self::Message => (Type::String, "messageExpression must evaluate to a string"),
        }
    }

    fn not_compiled(self, text: &str) -> String {
        match self {
            Self::Rule => format!("compilation failed: {text}"),
            Self::Message => format!("messageExpression compilation failed: {text}"),
        }
    }

    fn not_instantiated(self, text: &str) -> String {
        match self {
            Self::Rule => format!("program instantiation failed: {text}"),
            Self::Message => format!("messageExpression instantiation failed: {text}"),
        }
    }
}

/// Compiles an expression over `self` and `oldSelf`.
///
/// It refuses deep expressions because everything that walks an expression is recursive.
/// The depth is known only after parsing, which needs a large stack even for a short source: in a debug build a pair of
/// parentheses takes 170 KB.
///
/// # Errors
/// The text of the error: the source is too long or too deep, does not parse, has wrong types or unknown names, or does
/// not return what it must.
pub(in crate::schema) fn compile(
    source: &str,
    declared: &Declared,
    old_is_optional: bool,
    purpose: Purpose,
) -> Result<Compiled, String> {
    stack::large(|| compile_here(source, declared, old_is_optional, purpose))
}

fn compile_here(
    source: &str,
    declared: &Declared,
    old_is_optional: bool,
    purpose: Purpose,
) -> Result<Compiled, String> {
    let failed = |text: String| purpose.not_compiled(&text);
    let program = parse(source).map_err(failed)?;
    let old = match old_is_optional {
        true => Type::optional(declared.kind.clone()),
        false => declared.kind.clone(),
    };
    let variables = [("self", declared.kind.clone()), ("oldSelf", old)];
    let checked = check(&program, &variables, false).map_err(failed)?;
    let (wanted, otherwise) = purpose.result();
    if *checked.result() != wanted {
        return Err(otherwise.into());
    }
    let largest_cost = cost::largest(&checked, declared);
    let program = Executable::new(checked).map_err(|text| purpose.not_instantiated(&text))?;
    let mut uses_old_self = false;
    each(&program.expression, &mut |part| {
        uses_old_self |= matches!(&part.expr, Expr::Ident(name) if name == "oldSelf");
    });
    Ok(Compiled {
        program,
        largest_cost,
        uses_old_self,
    })
}

impl Compiled {
    pub(in crate::schema) fn evaluate<'a>(&'a self, variables: Vec<(&'a str, Value)>) -> Outcome {
        let variables = variables.into_iter();
        self.program
            .evaluate(variables.map(|(name, value)| (name, Ok(value))).collect())
    }
}

/// Checks that an expression over these variables compiles. Where it is evaluated it may have functions and types that are not
/// known here, so they are not checked.
///
/// # Errors
/// The text of the error: the source is too long or too deep, or does not parse, or has an unknown variable.
pub(crate) fn compile_expression(source: &str, variables: &[&str]) -> Result<(), String> {
    stack::large(|| {
        let program = parse(source)?;
        names::check(program.expression(), variables)
    })
    .map_err(|text| format!("compilation failed: {text}"))
}

pub(super) fn parse(source: &str) -> Result<Program, String> {
    if source.len() > MAX_SOURCE {
        let length = source.len();
        return Err(format!(
            "expression of {length} bytes is longer than {MAX_SOURCE}"
        ));
    }
    let program = env().compile(source).map_err(|e| lines(&e.to_string()))?;
    match is_deeper(program.expression(), MAX_DEPTH) {
        true => Err(format!(
            "expression is nested deeper than {MAX_DEPTH} levels"
        )),
        false => Ok(program),
    }
}

/// The text of a parser with the place of the error below it, as a real server shows it.
fn lines(text: &str) -> String {
    text.trim_end().replace("\n|", "\n |")
}
