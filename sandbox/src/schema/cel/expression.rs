use std::collections::BTreeSet;
use std::sync::Arc;

use cel::Value;
use cel::common::ast::Expr;
use serde_json::Value as Json;

use super::Declarations;
use super::check::check;
use super::compile::{Executable, parse};
use super::declarations::{VARIABLES, qualified};
use super::evaluate::Stopped;
use super::made::{OBJECT, PATCH};
use super::typed::unknown_fields;
use super::types::Type;
use super::walk::each;
use crate::schema::rule_values::convert;
use crate::stack;

/// A compiled expression about a request.
pub(crate) struct Expression {
    program: Executable,
    pub(super) result: Type,
    /// The names of the variables in it.
    names: BTreeSet<String>,
}

/// What an expression must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Returns {
    Bool,
    Text,
    TextOrNull,
    Anything,
    /// An object to apply.
    Object,
    /// The operations of a JSON patch.
    Patch,
}

impl Returns {
    fn check(self, result: &Type) -> Result<(), String> {
        let wanted: Vec<Type> = match self {
            Self::Anything => return Ok(()),
            Self::Bool => vec![Type::Bool],
            Self::Text => vec![Type::String],
            Self::TextOrNull => vec![Type::String, Type::Null],
            Self::Object => vec![Type::Patched(OBJECT.into())],
            Self::Patch => vec![Type::list(Type::Patched(PATCH.into()))],
        };
        if wanted.contains(result) {
            return Ok(());
        }
        let names: Vec<String> = wanted.iter().map(name_in_go).collect();
        let got = name_in_go(result);
        Err(match names.as_slice() {
            [only] => format!("must evaluate to {only} but got {got}"),
            many => format!("must evaluate to one of [{}] but got {got}", many.join(" ")),
        })
    }
}

/// The name of a type where cel-go does not format it for an error of the checker.
fn name_in_go(of: &Type) -> String {
    match of {
        Type::Null => "null_type".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        Type::Made(made) if !made.parameters.is_empty() => {
            let parameters: Vec<String> = made.parameters.iter().map(name_in_go).collect();
            format!("{}({})", made.name, parameters.join(", "))
        }
        other => other.to_string(),
    }
}

impl Expression {
    /// Compiles an expression over these variables.
    ///
    /// # Errors
    /// The text of the error: the source is too long or too deep, does not parse, has wrong types or unknown names, or does not return what it must.
    pub(crate) fn compile(
        source: &str,
        declarations: &Declarations,
        returns: Returns,
    ) -> Result<Self, String> {
        let failed = |text: String| format!("compilation failed: {text}");
        stack::large(|| {
            let parsed = parse(source).map_err(failed)?;
            let makes_patches = matches!(returns, Returns::Object | Returns::Patch);
            let checked = check(parsed, &declarations.all(), makes_patches).map_err(failed)?;
            let result = checked.result().clone();
            returns.check(&result)?;
            let program = Executable::new(checked)
                .map_err(|text| format!("program instantiation failed: {text}"))?;
            let mut names = BTreeSet::new();
            each(&program.expression, &mut |part| {
                if let Expr::Ident(name) = &part.expr {
                    names.insert(name.clone());
                }
            });
            Ok(Self {
                program,
                result,
                names,
            })
        })
    }

    /// The fields that it sets although the kind of the object does not have them, if the kind is known.
    pub(crate) fn unknown_fields(&self, declarations: &Declarations) -> Vec<String> {
        let schema = declarations.schema.as_ref();
        let unknown =
            |schema: &Arc<Json>| stack::large(|| unknown_fields(&self.program.expression, schema));
        schema.map(unknown).unwrap_or_default()
    }

    /// Whether it uses a variable that a policy defines.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.names.contains(VARIABLES) || self.names.contains(&qualified(name))
    }

    /// Evaluates the expression. Returns the value and the cost. A variable may have an error instead of a value, which matters if it is used.
    ///
    /// # Errors
    /// The text of the error.
    pub(crate) fn evaluate<'a>(
        &'a self,
        variables: impl Iterator<Item = (&'a str, Result<Value, String>)>,
    ) -> (Result<Value, String>, u64) {
        let variables = variables.map(|(name, value)| (name, value.map_err(Stopped::Failed)));
        let outcome = stack::large(|| self.program.evaluate(variables.collect()));
        let result = outcome.result.map_err(|stopped| match stopped {
            Stopped::Failed(why) => why,
            Stopped::TooExpensive => "operation cancelled: actual cost limit exceeded".into(),
        });
        (result, outcome.cost)
    }
}

/// A JSON value in CEL, by its own types.
pub(crate) fn to_cel(json: &Json) -> Value {
    stack::large(|| convert(None, json))
}
