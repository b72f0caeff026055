//! Writes a summary of each object of a kind that is known only at run time.

use pilothouse::{
    prelude::*,
    resource::{ApiResource, Conditions, DynamicObject, NewCondition},
};
use serde_json::{Value, json};

/// The finalizer of the summarized objects.
pub const FINALIZER: &str = "platform.example.com/summary";

pub(crate) struct SummaryReconciler {
    pub(crate) fields: Vec<String>,
}

impl Reconciler for SummaryReconciler {
    type Resource = DynamicObject;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .finalizer(FINALIZER)
            .with_ready_condition()
    }

    async fn reconcile(&self, object: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result {
        let value = serde_json::to_value(&*object)?;
        let (mut summary, mut missing) = (String::new(), Vec::new());
        for field in &self.fields {
            match value.pointer(field) {
                Some(Value::String(text)) => summary.push_str(&format!("{field}: {text}\n")),
                Some(value) => summary.push_str(&format!("{field}: {value}\n")),
                None => missing.push(field.as_str()),
            }
        }
        cx.apply(ConfigMap {
            data: Some([("summary".into(), summary)].into()),
            ..ConfigMap::named(format!("{}-summary", object.name()))
        })
        .await?;
        let summarized = match missing.is_empty() {
            true => NewCondition::is_true("Summarized", "Complete"),
            false => NewCondition::is_false("Summarized", "FieldsMissing")
                .message(format!("no {}", missing.join(", "))),
        };
        let mut conditions = Vec::new();
        conditions.set(summarized.observed(&*object), cx.now())?;
        cx.update_status(json!({"conditions": conditions})).await?;
        Ok(Action::wait())
    }
}

impl Cleanup for SummaryReconciler {
    async fn cleanup(&self, _: Arc<DynamicObject>, cx: &Context<DynamicObject>) -> Result {
        // The garbage collector deletes the ConfigMap.
        cx.event(NewEvent::normal("Removed", "Delete").note("the summary is removed"));
        Ok(Action::wait())
    }
}

/// Reads `widgets.v1.example.com/Widget` as a namespaced kind.
pub(crate) fn parse_kind(text: &str) -> Result<ApiResource, String> {
    let parts = || {
        let (resource, kind) = text.split_once('/')?;
        let (plural, rest) = resource.split_once('.')?;
        let (version, group) = rest.split_once('.')?;
        let all = [plural, version, group, kind];
        all.iter().all(|part| !part.is_empty()).then_some(all)
    };
    let [plural, version, group, kind] = parts()
        .ok_or("write plural, version, group and kind: `widgets.v1.example.com/Widget`")?
        .map(|part| part.to_owned().into());
    Ok(ApiResource {
        group,
        version,
        kind,
        plural,
        namespaced: true,
    })
}

/// Checks that `text` is a JSON pointer.
pub(crate) fn parse_pointer(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.into()),
        false => Err("a JSON pointer begins with `/`, as in `/spec/size`".into()),
    }
}
