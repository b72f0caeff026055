use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::ast::{Expr, SourceInfo};
use cel::{Env, IdedExpr, ParseError, Value};

use super::check::{Checked, check, show};
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

/// The longest source that is compiled, in characters, as in cel-go. A chain of operators is a tree as deep as it is long.
const MAX_SOURCE: usize = 100_000;

/// The deepest expression that is evaluated. cel-go counts before macros are expanded, so that it takes more macros inside of one
/// another.
const MAX_DEPTH: u16 = 250;

/// The most that one evaluation of an expression may cost.
const MAX_COST: u64 = 1_000_000;

/// An expression whose names and types are not checked yet.
pub(super) struct Parsed {
    pub(super) expression: IdedExpr,
    /// Where its parts are in the source.
    pub(super) places: SourceInfo,
}

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
    let parsed = parse(source).map_err(failed)?;
    let old = match old_is_optional {
        true => Type::optional(declared.kind.clone()),
        false => declared.kind.clone(),
    };
    let variables = [("self", declared.kind.clone()), ("oldSelf", old)];
    let checked = check(parsed, &variables, false).map_err(failed)?;
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
        let parsed = parse(source)?;
        names::check(&parsed.expression, variables)
    })
    .map_err(|text| format!("compilation failed: {text}"))
}

pub(super) fn parse(source: &str) -> Result<Parsed, String> {
    let length = source.chars().count();
    if length > MAX_SOURCE {
        let why = "expression code point size exceeds limit";
        return Err(nowhere(&format!(
            "{why}: size: {length}, limit {MAX_SOURCE}"
        )));
    }
    // The parser counts the expressions inside of one another from 0, and adds 1.
    let parser = env().parser().max_recursion_depth(MAX_DEPTH - 1);
    let (expression, places) = parser
        .parse_with_source_info(source)
        .map_err(|found| not_parsed(source, &found.errors))?;
    // The operand in the last operator is one more level.
    match is_deeper(&expression, usize::from(MAX_DEPTH) + 1) {
        true => Err(nowhere("max recursion depth exceeded")),
        false => Ok(Parsed { expression, places }),
    }
}

/// The errors of the parser as a real server shows them: the parser's own text panics at a column above 65 535, and shows all
/// errors.
fn not_parsed(source: &str, errors: &[ParseError]) -> String {
    // The parser shows its own error in the form of Rust.
    let is_too_deep = |error: &ParseError| {
        error.msg.starts_with("Syntax error: OtherError(")
            && error.msg.contains("Recursion limit of")
    };
    if errors.iter().any(is_too_deep) {
        return nowhere(&format!("expression recursion limit exceeded: {MAX_DEPTH}"));
    }
    let placed = errors.iter().map(|error| {
        let place = match error.pos {
            (row @ 1.., column @ 1..) => Some((row.unsigned_abs() - 1, column.unsigned_abs() - 1)),
            _ => None,
        };
        (place, error.msg.as_str())
    });
    show(source, placed, errors.len())
}

/// The text of an error that has no place in the source.
fn nowhere(text: &str) -> String {
    show("", std::iter::once((None, text)), 1)
}
