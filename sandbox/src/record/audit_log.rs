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

/// What the audit log needs to know of a request and its record does not contain.
pub(crate) struct Audited<'a> {
    pub(crate) id: String,
    /// Who sent it, and whom the sender impersonates; null if they are not known.
    pub(crate) user: &'a Value,
    pub(crate) impersonated: &'a Value,
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

    /// Writes the event of a request that has ended.
    pub(crate) fn write(&self, request: &RecordedRequest, audited: &Audited<'_>) {
        self.append(&event(request, audited));
    }

    /// Writes the event of a request whose answer begins, and lasts.
    pub(crate) fn write_start(
        &self,
        request: &RecordedRequest,
        audited: &Audited<'_>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Ending {
        let mut event = event(request, audited);
        event["stage"] = "ResponseStarted".into();
        self.append(&event);
        Ending {
            log: self.clone(),
            event,
            clock: Box::new(clock),
        }
    }

    fn append(&self, event: &Value) {
        let line = format!("{event}\n");
        let mut to = self.to.lock();
        let Some(open) = to.as_mut() else { return };
        let written = open.write_all(line.as_bytes()).and_then(|()| open.flush());
        if let Err(error) = written {
            *to = None;
            tracing::error!(%error, "the audit log cannot be written; it ends here");
        }
    }
}

/// An answer that lasts. When it is dropped, the event of its end is written.
pub(crate) struct Ending {
    log: AuditLog,
    event: Value,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.event["stage"] = "ResponseComplete".into();
        self.event["stageTimestamp"] = shown((self.clock)()).into();
        self.log.append(&self.event);
    }
}

/// A time in the form of `metav1.MicroTime`.
fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

fn event(request: &RecordedRequest, audited: &Audited<'_>) -> Value {
    let query = match request.query.as_str() {
        "" => String::new(),
        query => format!("?{query}"),
    };
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
        "user": audited.user.as_object().cloned().unwrap_or_default(),
        "userAgent": request.user_agent,
        "responseStatus": status,
        "requestReceivedTimestamp": shown(audited.received),
        "stageTimestamp": shown(audited.answered),
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
    if !audited.impersonated.is_null() {
        event["impersonatedUser"] = audited.impersonated.clone();
    }
    if !notes.annotations.is_empty() {
        event["annotations"] = json!(notes.annotations);
    }
    event
}
