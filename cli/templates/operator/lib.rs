//! The operator `{{name}}`.

mod {{module}};

use pilothouse::prelude::*;

pub use {{module}}::{{{kind}}, {{kind}}Reconciler, {{kind}}Spec, {{kind}}Status};

/// The operator with its kinds, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("{{name}}").controller({{kind}}Reconciler)
}
