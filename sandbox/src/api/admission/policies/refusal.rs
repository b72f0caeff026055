use serde_json::{Value, json};

use crate::api::admission::attributes::Attributes;
use crate::api::admission::rules;

/// Returns the details of the response to a request that policies refuse, with a cause for each message.
pub(super) fn details(
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    messages: &[String],
) -> Value {
    let resource = attributes.target.resource();
    let causes = messages.iter().map(|message| json!({"message": message}));
    let mut details = json!({
        "name": rules::shown_name(attributes, object), "kind": resource.resource,
        "causes": causes.collect::<Vec<Value>>(),
    });
    if !resource.group.is_empty() {
        details["group"] = resource.group.into();
    }
    details
}
