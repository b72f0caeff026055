use serde_json::Value;

use super::CustomResourceDefinition;

/// Converts a definition to JSON in kubectl's form: whole numbers without a fraction, keys in alphabetical order.
pub fn to_json(crd: &CustomResourceDefinition) -> Value {
    let mut value = serde_json::to_value(crd).unwrap_or_default();
    whole_numbers(&mut value);
    value
}

/// Converts a definition to a YAML document, ready for `kubectl apply -f -`.
///
/// The same definition always gives the same text, so the text can be under version control.
pub fn to_yaml(crd: &CustomResourceDefinition) -> String {
    serde_saphyr::to_string(&to_json(crd)).unwrap_or_default()
}

/// Removes the fraction from whole numbers: k8s-openapi stores bounds as floats, which would print `minimum: 0.0`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < 9_007_199_254_740_992.0
            {
                *number = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
