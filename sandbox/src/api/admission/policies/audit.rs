use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::meta;
use crate::record::Audit;

/// The longest value of an annotation, in bytes.
const LONGEST: usize = 10 * 1024;

/// The annotations of a policy, from all its bindings and parameters.
#[derive(Default)]
pub(super) struct Annotations(BTreeMap<String, Vec<String>>);

impl Annotations {
    pub(super) fn extend(&mut self, evaluated: Vec<(String, String)>) {
        for (key, mut value) in evaluated {
            value.truncate(value.floor_char_boundary(LONGEST));
            let values = self.0.entry(key).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }

    pub(super) fn publish(self, audit: &Audit, policy: &str) {
        for (key, values) in self.0 {
            audit.annotate(&format!("{policy}/{key}"), || values.join(", "));
        }
    }
}

/// The value of the annotation about a failed validation, in the order of the fields of a real server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    message: &'a str,
    policy: &'a Value,
    binding: &'a str,
    expression_index: usize,
    validation_actions: &'a Value,
}

/// Notes that the validation of this index failed.
pub(super) fn failure(audit: &Audit, binding: &Value, index: usize, message: &str) {
    let failure = Failure {
        message,
        policy: &binding["spec"]["policyName"],
        binding: meta::name(binding),
        expression_index: index,
        validation_actions: &binding["spec"]["validationActions"],
    };
    audit.annotate(
        "validation.policy.admission.k8s.io/validation_failure",
        || {
            let text = serde_json::to_string(&[failure]).unwrap_or_default();
            // A real server escapes what could pass for HTML.
            text.replace('&', "\\u0026")
                .replace('<', "\\u003c")
                .replace('>', "\\u003e")
        },
    );
}
