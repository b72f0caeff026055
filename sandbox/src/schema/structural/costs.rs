use serde_json::{Map, Value};

use super::json::{object, text};
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;

/// The largest estimated cost of one rule.
const LIMIT: u64 = 10_000_000;

/// The largest estimated cost of all rules of a schema.
const TOTAL_LIMIT: u64 = 100_000_000;

/// The number of rules that are named if all together cost too much.
const NAMED: usize = 4;

/// The estimated cost of all rules.
#[derive(Default)]
pub(super) struct Total {
    sum: u64,
    /// The rules that cost most, with the most expensive first.
    largest: Vec<(u64, String)>,
}

impl Total {
    /// Adds the cost of an expression.
    pub(super) fn add(
        &mut self,
        at: &FieldPath<'_>,
        name: &str,
        cost: u64,
        errors: &mut Vec<FieldError>,
    ) {
        if cost > LIMIT {
            errors.push(FieldError::forbidden(at, exceeds(name, cost, LIMIT)));
        }
        self.sum = self.sum.saturating_add(cost);
        if cost >= TOTAL_LIMIT / 100 {
            self.largest.push((cost, at.to_string()));
            self.largest
                .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.largest.truncate(NAMED);
        }
    }

    /// Refuses a schema whose rules cost too much together.
    pub(super) fn check(&self, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
        if self.sum <= TOTAL_LIMIT {
            return;
        }
        for (_, place) in &self.largest {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(place, detail));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(
            at,
            exceeds(name, self.sum, TOTAL_LIMIT),
        ));
    }
}

fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
         arrays, maps, and strings are declared)"
    )
}

/// How often the parts of a value may occur, if the value itself occurs so often. `None` is without limit.
pub(super) fn occurrences(schema: &Map<String, Value>, outer: Option<u64>) -> Option<u64> {
    let max = |key| {
        let max = schema.get(key).and_then(Value::as_i64)?;
        Some(u64::try_from(max).unwrap_or(0))
    };
    let inner = match text(schema, "type") {
        "object" if object(schema, "additionalProperties").is_some() => max("maxProperties")?,
        "array" => max("maxItems")?,
        _ => 1,
    };
    Some(outer?.saturating_mul(inner))
}
