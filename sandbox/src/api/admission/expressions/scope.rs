use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::compiled::Expressions;
use super::decider::{decider, of_request};
use crate::api::admission::attributes::Attributes;
use crate::api::admission::webhooks::request;
use crate::core::Core;
use crate::registry::ServedKind;
use crate::schema::{CelValue, Expression, Returns, authorizer, to_cel};

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

/// The variables that expressions about a request may use, with their values.
#[derive(Clone)]
pub(in crate::api::admission) struct Scope<'a> {
    expressions: &'a Expressions,
    values: Vec<(&'static str, CelValue)>,
    /// The request as the expressions after the match conditions see it.
    matched: CelValue,
    /// The values of the variables that the policy defines. A variable is evaluated when an expression uses it.
    defined: Vec<Option<Result<CelValue, String>>>,
}

impl<'a> Scope<'a> {
    /// The variables of every expression. `kind` is the kind in which the object is seen.
    pub(in crate::api::admission) fn new(
        core: &Core,
        attributes: &Attributes<'_>,
        kind: &ServedKind,
        object: Option<&Value>,
        old: Option<&Value>,
        expressions: &'a Expressions,
    ) -> Self {
        let seen = |object: Option<&Value>| object.map_or(CelValue::Null, to_cel);
        let decider = decider(core, attributes.user);
        let [authorizer, of_resource] = authorizer(&decider, of_request(attributes));
        let mut request = request(core, attributes, kind);
        let matched = to_cel(&request);
        // Match conditions see the resource of the request also if the rule is about another version.
        request["resource"] = request["requestResource"].clone();
        Self {
            expressions,
            matched,
            values: vec![
                ("object", seen(object)),
                ("oldObject", seen(old)),
                ("request", to_cel(&request)),
                ("namespaceObject", CelValue::Null),
                ("authorizer", authorizer),
                ("authorizer.requestResource", of_resource),
            ],
            defined: vec![None; expressions.variables.len()],
        }
    }

    /// Adds what the expressions of a policy see.
    pub(in crate::api::admission) fn with_params(
        mut self,
        params: Option<&Value>,
        namespace: &Value,
    ) -> Self {
        self.set("namespaceObject", to_cel(namespace));
        if self.expressions.has_params {
            self.set("params", params.map_or(CelValue::Null, to_cel));
        }
        self
    }

    /// What the expressions after the match conditions see.
    pub(in crate::api::admission) fn with_matched(mut self) -> Self {
        let request = std::mem::replace(&mut self.matched, CelValue::Null);
        self.set("request", request);
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
        let compiled = self.expressions.get(source, returns);
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
        let variables = &self.expressions.variables;
        let mut needed = vec![false; variables.len()];
        for (index, variable) in variables.iter().enumerate().rev() {
            // A variable may use those before it.
            let later = variables.iter().zip(&needed).skip(index + 1);
            let mut users = later.filter_map(|(other, needed)| match &other.expression {
                Ok(other) if *needed => Some(&**other),
                _ => None,
            });
            needed[index] =
                expression.uses(&variable.name) || users.any(|other| other.uses(&variable.name));
        }
        for (index, (variable, needed)) in variables.iter().zip(needed).enumerate() {
            if !needed || self.defined[index].is_some() {
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
            self.defined[index] = Some(value);
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = (&str, Result<CelValue, String>)> {
        let defined = self.expressions.variables.iter().zip(&self.defined);
        // Expressions may also ask whether there is a variable, or take all of them.
        let whole: HashMap<String, CelValue> = defined
            .clone()
            .map(|(variable, value)| match value {
                Some(Ok(value)) => (variable.name.clone(), value.clone()),
                _ => (variable.name.clone(), CelValue::Null),
            })
            .collect();
        let variables = defined
            .filter_map(|(variable, value)| Some((variable.qualified.as_str(), value.clone()?)));
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
