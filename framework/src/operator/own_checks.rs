//! Health checks of the program's own, beside those of the framework.

use std::fmt;

use super::{OperatorError, leadership::ELECTION_CHECK};
use crate::health::{Checks, Health};

/// A check that the program declares before the start.
pub(super) struct OwnCheck {
    pub(super) endpoint: HealthEndpoint,
    pub(super) name: String,
    pub(super) check: Box<dyn Fn() -> Health + Send + Sync>,
}

/// The health endpoint that a check belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HealthEndpoint {
    Live,
    Ready,
}

impl fmt::Display for HealthEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Live => "/livez",
            Self::Ready => "/readyz",
        })
    }
}

/// The checks of the framework: at one of both endpoints, or at both.
const FRAMEWORK_CHECKS: [&str; 4] = ["ping", "running", "controllers", ELECTION_CHECK];
/// How the names of the framework's other checks begin.
const FRAMEWORK_PREFIXES: [&str; 2] = ["informer-", "controller-"];

/// Checks the name of a check of the program's own.
pub(super) fn check_name(endpoint: HealthEndpoint, name: &str) -> Result<(), OperatorError> {
    let refused = |problem: &str| OperatorError::Check {
        endpoint: endpoint.to_string(),
        name: name.to_owned(),
        problem: problem.to_owned(),
    };
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if name.is_empty() || !name.chars().all(is_allowed) {
        return Err(refused(
            "a name consists of letters, digits, `-`, `.` and `_`, because it is a part of a path",
        ));
    }
    let by_prefix = FRAMEWORK_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix));
    match by_prefix || FRAMEWORK_CHECKS.contains(&name) {
        true => Err(refused(
            "the framework has a check of that name: choose another",
        )),
        false => Ok(()),
    }
}

/// The error of a second check with a name.
pub(super) fn twice(endpoint: HealthEndpoint, name: &str) -> OperatorError {
    OperatorError::Check {
        endpoint: endpoint.to_string(),
        name: name.to_owned(),
        problem: "the program has two checks of that name: rename one".into(),
    }
}

/// Adds a check of the program's own.
///
/// # Errors
/// [`OperatorError::Check`] if the name is not possible or taken.
pub(super) fn add(
    checks: &Checks,
    endpoint: HealthEndpoint,
    name: String,
    check: impl Fn() -> Health + Send + Sync + 'static,
) -> Result<(), OperatorError> {
    check_name(endpoint, &name)?;
    match checks.add_new(name.clone(), check) {
        true => Ok(()),
        false => Err(twice(endpoint, &name)),
    }
}
