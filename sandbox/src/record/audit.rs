use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::meta;
use crate::names;

/// What the parts that answer a request note for its event in the audit log. All copies are the same notes. Without an audit log nothing is
/// noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit(Option<Arc<Mutex<Notes>>>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    pub(crate) annotations: BTreeMap<String, String>,
    /// The fields of `objectRef` that the path does not tell.
    pub(crate) object: Vec<(&'static str, String)>,
    /// The `Status` that is the answer; null for another answer.
    pub(crate) status: Value,
}

impl Audit {
    pub(crate) fn new(is_on: bool) -> Self {
        Self(is_on.then(Arc::default))
    }

    /// Adds an annotation. As on a real server its key is a domain, a slash and a name, and the first value of a key stays.
    pub(crate) fn annotate(&self, key: &str, value: impl FnOnce() -> String) {
        let Some(notes) = &self.0 else { return };
        if !key.contains('/') || !names::qualified_name(key).is_empty() {
            tracing::warn!(
                key,
                "the key of an audit annotation is invalid; the annotation is left out"
            );
            return;
        }
        let mut notes = notes.lock();
        notes
            .annotations
            .entry(key.to_owned())
            .or_insert_with(value);
    }

    /// Notes the object in the body of a request.
    pub(crate) fn object(&self, object: &Value) {
        let Some(notes) = &self.0 else { return };
        let field = |name: &'static str| (name, meta::text(object, name).to_owned());
        let fields = ["namespace", "name", "uid", "resourceVersion"].map(field);
        notes.lock().object = fields.into();
    }

    /// Notes the name of the object of a request, which its path may not tell.
    pub(crate) fn name(&self, name: &str) {
        let Some(notes) = &self.0 else { return };
        notes.lock().object.push(("name", name.to_owned()));
    }

    /// Notes the answer, if it is a `Status`.
    pub(crate) fn answer(&self, answer: &Value) {
        let Some(notes) = &self.0 else { return };
        if answer["kind"] == "Status" && answer["apiVersion"] == "v1" {
            notes.lock().status = answer.clone();
        }
    }

    pub(crate) fn notes(&self) -> Notes {
        self.0
            .as_ref()
            .map(|notes| notes.lock().clone())
            .unwrap_or_default()
    }
}
