use serde_json::Value;

use super::CustomResourceDefinition;
use crate::resource::whole_numbers;

/// Converts a definition to JSON in kubectl's form: whole numbers without a fraction, keys in alphabetical order.
pub fn to_json(crd: &CustomResourceDefinition) -> Value {
    let mut value = serde_json::to_value(crd).unwrap_or_default();
    whole_numbers(&mut value);
    value
}
