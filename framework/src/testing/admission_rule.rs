use std::fmt;

use crate::{
    admission::AdmissionRule,
    operator::{OperatorError, check_admission_rules},
};

/// Checks an admission rule as an API server does, and its expressions for the types of the objects: a field that the kind does not have is an
/// error here and not a denied request in a cluster. The types are known if the kind is built in or if the operator defines it.
///
/// Write such a test for each rule. [`OfflineAdmission::rule`](super::OfflineAdmission::rule) evaluates one.
///
/// ```
/// use pilothouse::{admission::AdmissionRule, prelude::*, testing};
///
/// let rule = AdmissionRule::on::<Deployment>("replicas").check("object.spec.replica <= 5", "at most 5 replicas");
/// let refused = testing::admission_rule(&rule).unwrap_err();
/// assert!(refused.to_string().contains("undefined field 'replica'"));
/// ```
///
/// # Errors
/// [`RefusedRule`] has for each problem the place in the source, the rule, the expression and what to do.
pub fn admission_rule(rule: &AdmissionRule) -> Result<(), RefusedRule> {
    match check_admission_rules(std::slice::from_ref(rule)) {
        Ok(()) => Ok(()),
        Err(OperatorError::RefusedRules(problems)) => Err(RefusedRule { problems }),
        Err(error) => Err(RefusedRule {
            problems: vec![error.to_string()],
        }),
    }
}

/// Why an API server refuses an admission rule, or would not evaluate it. The text has a line for each problem.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the admission rule is refused:\n  {}", .problems.join("\n  "))]
pub struct RefusedRule {
    problems: Vec<String>,
}

/// The text, because tests unwrap the error.
impl fmt::Debug for RefusedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
