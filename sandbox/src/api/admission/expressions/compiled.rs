use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::schema::{Declarations, Expression, Returns, qualified};

/// The expressions of a configuration of webhooks or of a policy. Each is compiled once, when it is evaluated for the first time.
pub(in crate::api::admission) struct Expressions {
    declarations: Declarations,
    /// Whether the policy has parameters.
    pub(super) has_params: bool,
    /// The variables that the policy defines, in their order.
    pub(super) variables: Vec<Variable>,
    compiled: Mutex<HashMap<(String, Returns), Compiled>>,
}

pub(super) type Compiled = Result<Arc<Expression>, String>;

/// A variable that a policy defines.
pub(super) struct Variable {
    pub(super) name: String,
    /// Its name in expressions.
    pub(super) qualified: String,
    pub(super) expression: Compiled,
}

impl Expressions {
    pub(in crate::api::admission) fn of(configuration: &Value) -> Self {
        let mut declarations = Declarations::of_request().with_authorizer();
        let mut variables = Vec::new();
        let mut has_params = false;
        // Configurations of webhooks have no spec, and their expressions no variables.
        if let Some(spec) = configuration.get("spec") {
            has_params = !spec["paramKind"].is_null();
            if has_params {
                declarations = declarations.with_params();
            }
            declarations = declarations.with_variables();
            for variable in spec["variables"].as_array().into_iter().flatten() {
                let text = |field: &str| variable[field].as_str().unwrap_or_default();
                let (name, source) = (text("name"), text("expression"));
                let expression = Expression::compile(source, &declarations, Returns::Anything);
                declarations.define(name, expression.as_ref().ok());
                variables.push(Variable {
                    name: name.into(),
                    qualified: qualified(name),
                    expression: expression.map(Into::into),
                });
            }
        }
        Self {
            declarations,
            has_params,
            variables,
            compiled: Mutex::default(),
        }
    }

    /// An expression, ready to be evaluated.
    ///
    /// # Errors
    /// The text of the error if it does not compile.
    pub(super) fn get(&self, source: &str, returns: Returns) -> Compiled {
        let mut compiled = self.compiled.lock();
        let entry = compiled.entry((source.to_owned(), returns));
        let compile = || {
            let expression = Expression::compile(source, &self.declarations, returns);
            expression.map(Into::into)
        };
        entry.or_insert_with(compile).clone()
    }
}
