use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::decider::{decider, of_request};
use crate::api::admission::attributes::Attributes;
use crate::api::admission::webhooks::request;
use crate::core::Core;
use crate::registry::ServedKind;
use crate::schema::{CelValue, Declarations, Expression, Returns, authorizer, qualified, to_cel};

/// What the expressions of a policy may cost together for one request.
pub(in crate::api::admission) const BUDGET: u64 = 10_000_000;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api::admission) enum Failure {
    /// It failed. Others can still be evaluated.
    Failed(String),
    /// There is nothing left of the budget.
    OutOfBudget,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(why) => why,
            Self::OutOfBudget => {
                "validation failed due to running out of cost budget, no further validation rules will be run"
            }
        })
    }
}

/// The variables that expressions about a request may use.
#[derive(Clone)]
pub(in crate::api::admission) struct Scope {
    declarations: Declarations,
    values: Vec<(&'static str, CelValue)>,
    /// The variables that the policy defines, in their order.
    variables: Vec<Variable>,
}

/// A variable that a policy defines. It is evaluated when an expression uses it.
#[derive(Clone)]
struct Variable {
    name: String,
    qualified: String,
    expression: Result<Arc<Expression>, String>,
    value: Option<Result<CelValue, String>>,
}

impl Scope {
    /// The variables of every expression. `kind` is the kind in which the object is seen.
    pub(in crate::api::admission) fn new(
        core: &Core,
        attributes: &Attributes<'_>,
        kind: &ServedKind,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Self {
        let seen = |object: Option<&Value>| object.map_or(CelValue::Null, to_cel);
        let decider = decider(core, attributes.user);
        let [authorizer, of_resource] = authorizer(&decider, of_request(attributes));
        Self {
            declarations: Declarations::of_request().with_authorizer(),
            values: vec![
                ("object", seen(object)),
                ("oldObject", seen(old)),
                ("request", to_cel(&request(core, attributes, kind))),
                ("namespaceObject", CelValue::Null),
                ("authorizer", authorizer),
                ("authorizer.requestResource", of_resource),
            ],
            variables: Vec::new(),
        }
    }

    /// Adds the variables of a policy.
    pub(in crate::api::admission) fn with_policy(
        mut self,
        policy: &Value,
        params: Option<&Value>,
        namespace: &Value,
    ) -> Self {
        let spec = &policy["spec"];
        self.set("namespaceObject", to_cel(namespace));
        if !spec["paramKind"].is_null() {
            self.set("params", params.map_or(CelValue::Null, to_cel));
            self.declarations = self.declarations.with_params();
        }
        self.declarations = self.declarations.with_variables();
        for variable in spec["variables"].as_array().into_iter().flatten() {
            let text = |field: &str| variable[field].as_str().unwrap_or_default();
            let (name, source) = (text("name"), text("expression"));
            let compiled = Expression::compile(source, &self.declarations, Returns::Anything);
            self.declarations.define(name, compiled.as_ref().ok());
            self.variables.push(Variable {
                name: name.into(),
                qualified: qualified(name),
                expression: compiled.map(Into::into),
                value: None,
            });
        }
        self
    }

    fn set(&mut self, name: &'static str, value: CelValue) {
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
    }

    /// Evaluates an expression, and takes what it costs from the budget.
    ///
    /// # Errors
    /// The text of a real server.
    pub(in crate::api::admission) fn evaluate(
        &mut self,
        source: &str,
        returns: Returns,
        budget: &mut u64,
    ) -> Result<CelValue, Failure> {
        let compiled = Expression::compile(source, &self.declarations, returns);
        let expression =
            compiled.map_err(|why| Failure::Failed(format!("compilation error: {why}")))?;
        self.compute(&expression, budget)?;
        let (result, cost) = expression.evaluate(self.all());
        take(budget, cost)?;
        result.map_err(|why| {
            Failure::Failed(format!("expression '{source}' resulted in error: {why}"))
        })
    }

    /// Evaluates the variables that an expression uses.
    fn compute(&mut self, expression: &Expression, budget: &mut u64) -> Result<(), Failure> {
        let mut needed = vec![false; self.variables.len()];
        for (index, variable) in self.variables.iter().enumerate().rev() {
            // A variable may use those before it.
            let later = self.variables.iter().zip(&needed).skip(index + 1);
            let mut users = later.filter_map(|(other, needed)| match &other.expression {
                Ok(other) if *needed => Some(&**other),
                _ => None,
            });
            needed[index] =
                expression.uses(&variable.name) || users.any(|other| other.uses(&variable.name));
        }
        for (index, needed) in needed.into_iter().enumerate() {
            let variable = &self.variables[index];
            if !needed || variable.value.is_some() {
                continue;
            }
            let name = &variable.name;
            let value = match &variable.expression {
                Err(why) => Err(format!(
                    "composited variable {name:?} fails to compile: {why}"
                )),
                Ok(expression) => {
                    let (result, cost) = expression.evaluate(self.all());
                    take(budget, cost)?;
                    result.map_err(|why| {
                        format!("composited variable {name:?} fails to evaluate: {why}")
                    })
                }
            };
            self.variables[index].value = Some(value);
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = (&str, Result<CelValue, String>)> {
        let known = |variable: &Variable| match &variable.value {
            Some(Ok(value)) => value.clone(),
            _ => CelValue::Null,
        };
        // Expressions may also ask whether there is a variable, or take all of them.
        let whole: HashMap<String, CelValue> = self
            .variables
            .iter()
            .map(|variable| (variable.name.clone(), known(variable)))
            .collect();
        let variables = self.variables.iter().filter_map(|variable| {
            let value = variable.value.clone()?;
            Some((variable.qualified.as_str(), value))
        });
        let values = self.values.iter();
        values
            .map(|(name, value)| (*name, Ok(value.clone())))
            .chain([("variables", Ok(whole.into()))])
            .chain(variables)
    }
}

fn take(budget: &mut u64, cost: u64) -> Result<(), Failure> {
    *budget = budget.checked_sub(cost).ok_or(Failure::OutOfBudget)?;
    Ok(())
}
