use serde_json::Value;

use super::{FieldSelector, LabelSelector};
use crate::store::Encoded;

/// The selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it selects a stored object.
    pub(crate) fn selects(&self, object: &Encoded) -> bool {
        if self.is_everything() {
            return true;
        }
        let Some(mut paths) = self.fields.paths() else {
            return self.matches(&object.value());
        };
        if !self.labels.is_empty() {
            paths.push("metadata.labels");
        }
        self.matches(&object.part(&paths))
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }
}
