//! The operator `greeting`.

mod greeting;

use pilothouse::prelude::*;

pub use greeting::{Greeting, GreetingReconciler, GreetingSpec, GreetingStatus};

/// The operator with its kinds, for `main` and for the tests.
pub fn operator() -> Operator {
    Operator::new("greeting").controller(GreetingReconciler)
}
