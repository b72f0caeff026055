use std::fmt;

use serde_json::{Map, Value, json};

use crate::registry::{GroupResource, ServedKind};

/// A failed request: the fields of its `Status`. The texts are those of kube-apiserver.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    details: Box<Details>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Details {
    name: String,
    group: String,
    kind: String,
    uid: String,
    causes: Vec<Cause>,
    retry_after: Option<u64>,
    continue_token: Option<String>,
    empty: bool,
    warnings: Vec<String>,
    /// The `Status` of a webhook, which replaces all of this.
    status: Option<Value>,
}

/// The reason of a write that has not ended. No client sees it.
const WAITING: &str = "Waiting";

/// One cause: for an invalid object, one wrong field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Box::default(),
        }
    }

    pub(crate) fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        self.details.name = name.into();
        self.details.group.clone_from(&resource.group);
        self.details.kind.clone_from(&resource.resource);
        self
    }

    pub(crate) fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {name:?} not found")).about(resource, name)
    }

    /// Whether one of the causes has this reason.
    pub(crate) fn has_cause(&self, reason: &str) -> bool {
        let mut causes = self.details.causes.iter();
        causes.any(|cause| cause.reason == reason)
    }

    /// The data folder cannot be written.
    pub(crate) fn not_kept(why: &str) -> Self {
        let text = format!(
            "the sandbox cannot keep this change: its data folder cannot be written: {why}"
        );
        Self::new(500, "InternalError", text)
    }

    pub(crate) fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{resource} {name:?} already exists"),
        )
        .about(resource, name)
    }

    /// The server generated a name from `generateName`, and the name is taken.
    pub(crate) fn generated_name_exists(resource: &GroupResource, name: &str) -> Self {
        let mut error = Self::new(
            409,
            "AlreadyExists",
            format!("{resource} {name:?} already exists, the server was not able to generate a unique name for the object"),
        )
        .about(resource, name);
        error.details.retry_after = Some(1);
        error
    }

    pub(crate) fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {resource} {name:?}: {why}"),
        )
        .about(resource, name)
    }

    /// The object changed after the resource version that the write names.
    pub(crate) fn modified(resource: &GroupResource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// A server-side apply conflicts with other managers; `causes` name the fields.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::new(409, "Conflict", message).because(causes)
    }

    pub(crate) fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let what = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {name:?} is forbidden: {why}")
        };
        Self::new(403, "Forbidden", what).about(resource, name)
    }

    /// For a path that is not a resource.
    pub(crate) fn forbidden_path(why: &str) -> Self {
        let mut error = Self::new(403, "Forbidden", format!("forbidden: {why}"));
        error.details.empty = true;
        error
    }

    /// None of the media types of a path is accepted.
    pub(crate) fn not_acceptable(declared: &[&str]) -> Self {
        let declared = declared.join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {declared}");
        let mut error = Self::new(406, "NotAcceptable", message);
        error.details.empty = true;
        error
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// A patch that does not fit the object. A real server gives no reason either.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        let mut error = Self::new(422, "Invalid", message);
        error.details.empty = true;
        error
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// A path that is not served, in a group that is.
    pub(crate) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        let mut error = Self::new(404, "NotFound", message);
        error.details.empty = true;
        error
    }

    /// A verb that a custom resource does not have on this path.
    pub(crate) fn method_not_supported(resource: &GroupResource, verb: &str) -> Self {
        let resource_text = resource.to_string();
        let message = format!("{verb} is not supported on resources of kind {resource_text:?}");
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut error = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details.empty = true;
        error
    }

    /// A content type that no route accepts.
    pub(crate) fn no_such_route() -> Self {
        let mut error = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        error.details.empty = true;
        error
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The snapshot of a continue token is compacted. With `token` the client continues at the current state.
    pub(crate) fn continue_expired(token: String) -> Self {
        let mut error = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
             the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
             Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
             deleted between the time the first chunk was returned and now may show up in the list.",
        );
        error.details.continue_token = Some(token);
        error
    }

    pub(crate) fn too_large_resource_version(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        let mut error = Self::new(504, "Timeout", message).because(vec![Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        }]);
        error.details.retry_after = Some(1);
        error
    }

    /// The server has stopped to work on a request.
    pub(crate) fn timeout(why: &str) -> Self {
        let mut error = Self::new(504, "Timeout", format!("Timeout: {why}"));
        error.details.empty = true;
        error
    }

    /// A part of Kubernetes that the sandbox does not have; `feature` completes "the sandbox does not implement …".
    pub(crate) fn not_implemented(feature: impl fmt::Display) -> Self {
        Self::new(
            501,
            "NotImplemented",
            format!("the sandbox does not implement {feature}"),
        )
    }

    /// The client accepts none of the forms of a document that is no object.
    pub(crate) fn no_representation(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        let mut error = Self::new(406, "NotAcceptable", message);
        error.details.empty = true;
        error
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .because(vec![Cause {
            reason: String::new(),
            message: message.to_string(),
            field: String::new(),
        }])
    }

    /// A controller's write goes on, because it has to ask a webhook.
    pub(crate) fn waiting() -> Self {
        Self::new(503, WAITING, "the write waits for an admission webhook")
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.reason == WAITING
    }

    /// A failure with a `Status` that a webhook has written.
    pub(crate) fn of_status(status: &Value) -> Self {
        let code = status["code"].as_u64();
        let code = code.and_then(|code| u16::try_from(code).ok());
        let message = status["message"].as_str().unwrap_or_default();
        let mut error = Self::new(code.unwrap_or(500), "", message);
        error.details.retry_after = status["details"]["retryAfterSeconds"].as_u64();
        error.details.status = Some(status.clone());
        error
    }

    /// An object that breaks rules: each cause is one field with its message.
    pub(crate) fn invalid(kind: &ServedKind, name: &str, causes: Vec<Cause>) -> Self {
        // A real server validates Events of both groups as its internal type, which is of the core group.
        let group = match (kind.group.as_str(), kind.kind.as_str()) {
            ("events.k8s.io", "Event") => "",
            (group, _) => group,
        };
        Self::invalid_kind(group, &kind.kind, name, causes)
    }

    pub(crate) fn invalid_kind(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in &causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let texts = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let group_kind = if group.is_empty() {
            kind.into()
        } else {
            format!("{kind}.{group}")
        };
        let mut error = Self::new(
            422,
            "Invalid",
            format!("{group_kind} {name:?} is invalid: {texts}"),
        );
        error.details.name = name.into();
        error.details.group = group.into();
        error.details.kind = kind.into();
        error.because(causes)
    }

    pub(crate) fn because(mut self, causes: Vec<Cause>) -> Self {
        self.details.causes.extend(causes);
        self
    }

    /// Adds warnings to the response.
    pub(crate) fn warned(mut self, warnings: &[String]) -> Self {
        self.details.warnings.extend_from_slice(warnings);
        self
    }

    /// Adds a warning in front of the others.
    pub(crate) fn warned_first(mut self, warning: &str) -> Self {
        self.details.warnings.insert(0, warning.to_owned());
        self
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.details.warnings
    }

    pub(crate) fn retry_after(mut self, seconds: Option<u64>) -> Self {
        self.details.retry_after = seconds;
        self
    }

    /// The seconds for the `Retry-After` header.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        self.details.retry_after
    }

    /// The `Status` object.
    pub(crate) fn to_status(&self) -> Value {
        if let Some(given) = &self.details.status {
            return self.of_webhook(given);
        }
        let mut metadata = Map::new();
        if let Some(token) = &self.details.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        let details = self.details.to_json();
        if let Some(fields) = status.as_object_mut() {
            if !self.reason.is_empty() {
                fields.insert("reason".into(), self.reason.into());
            }
            if self.details.empty || !details.is_empty() {
                fields.insert("details".into(), Value::Object(details));
            }
        }
        status
    }
}

impl ApiError {
    /// The `Status` with the fields that a webhook has set.
    fn of_webhook(&self, given: &Value) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        for field in ["metadata", "reason", "details"] {
            match &given[field] {
                Value::Null => {}
                Value::String(text) if text.is_empty() => {}
                value => status[field] = value.clone(),
            }
        }
        status
    }
}

impl Details {
    fn to_json(&self) -> Map<String, Value> {
        let mut details = Map::new();
        for (key, value) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !value.is_empty() {
                details.insert(key.into(), value.as_str().into());
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_json).collect();
            details.insert("causes".into(), Value::Array(causes));
        }
        if let Some(seconds) = self.retry_after {
            details.insert("retryAfterSeconds".into(), seconds.into());
        }
        details
    }
}

impl Cause {
    /// A wrong field of an object: `reason` is `FieldValueInvalid`, `FieldValueRequired` and so on.
    pub(crate) fn field(
        reason: &str,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            reason: reason.into(),
            message: message.into(),
            field: field.into(),
        }
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".into()
        } else {
            format!("Required value: {detail}")
        };
        Self::field("FieldValueRequired", field, message)
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::field("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// `value` is shown as JSON, strings in quotes.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::field(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {detail}"),
        )
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let message = format!(
            "Unsupported value: {value:?}: supported values: {}",
            supported.join(", ")
        );
        Self::field("FieldValueNotSupported", field, message)
    }

    fn to_json(&self) -> Value {
        let mut cause = Map::new();
        for (key, value) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !value.is_empty() {
                cause.insert(key.into(), value.as_str().into());
            }
        }
        Value::Object(cause)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
