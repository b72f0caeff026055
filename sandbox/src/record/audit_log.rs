use std::fmt;
use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Audit, RecordedRequest};

/// Writes a line for each request, in the format of kube-apiserver's audit log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    /// `None` after a write failed.
    to: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
}

/// What the audit log says of a request beside its record.
pub(crate) struct Audited<'a> {
    pub(crate) id: String,
    pub(crate) groups: &'a [String],
    pub(crate) received: Timestamp,
    pub(crate) answered: Timestamp,
    pub(crate) audit: &'a Audit,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").finish_non_exhaustive()
    }
}

impl AuditLog {
    pub(crate) fn new(to: impl Write + Send + 'static) -> Self {
        Self {
            to: Arc::new(Mutex::new(Some(Box::new(to)))),
        }
    }

    pub(crate) fn write(&self, request: &RecordedRequest, audited: &Audited<'_>) {
        let line = format!("{}\n", event(request, audited));
        let mut to = self.to.lock();
        let Some(open) = to.as_mut() else { return };
        let written = open.write_all(line.as_bytes()).and_then(|()| open.flush());
        if let Err(error) = written {
            *to = None;
            tracing::error!(%error, "the audit log cannot be written; it ends here");
        }
    }
}

fn event(request: &RecordedRequest, audited: &Audited<'_>) -> Value {
    let query = match request.query.as_str() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let time = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let notes = audited.audit.notes();
    let mut status = json!({"metadata": {}, "code": request.status});
    for field in ["status", "message", "reason", "details"] {
        if let Some(value) = notes.status.get(field) {
            status[field] = value.clone();
        }
    }
    let mut event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": audited.id,
        "stage": "ResponseComplete",
        "requestURI": format!("{}{query}", request.path),
        "verb": request.verb,
        "user": {"username": request.user, "groups": audited.groups},
        "userAgent": request.user_agent,
        "responseStatus": status,
        "requestReceivedTimestamp": time(audited.received),
        "stageTimestamp": time(audited.answered),
    });
    if !request.resource.is_empty() {
        let parts = [
            ("resource", &request.resource),
            ("namespace", &request.namespace),
            ("name", &request.name),
            ("apiGroup", &request.group),
            ("apiVersion", &request.version),
            ("subresource", &request.subresource),
        ];
        let set = parts.into_iter().filter(|(_, value)| !value.is_empty());
        event["objectRef"] = set
            .map(|(key, value)| (key.to_owned(), Value::from(value.as_str())))
            .collect();
        for (key, value) in notes.object {
            if !value.is_empty() && event["objectRef"].get(key).is_none() {
                event["objectRef"][key] = value.into();
            }
        }
    }
    if !notes.annotations.is_empty() {
        event["annotations"] = json!(notes.annotations);
    }
    event
}
