use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::admission::attributes::{Attributes, Triple, own_kind};
use crate::core::Core;
use crate::registry::ServedKind;

/// The group of AdmissionReviews.
const GROUP: &str = "admission.k8s.io";

/// The answer of a webhook.
pub(super) struct Answer {
    pub(super) allowed: bool,
    /// The JSON patch of a mutating webhook.
    pub(super) patch: Option<Value>,
    /// The reason of a denial.
    pub(super) result: Value,
    pub(super) warnings: Vec<String>,
    /// Annotations for the audit log.
    pub(super) annotations: Vec<(String, String)>,
}

/// Why an answer cannot be used.
pub(super) enum Unusable {
    Invalid(String),
    UndecodablePatch(String),
    PatchType(String),
}

/// The version of AdmissionReview that a webhook gets: the first that it names and the server knows.
///
/// # Errors
/// It knows none of them.
pub(super) fn version(hook: &Value) -> Result<&str, String> {
    let versions = hook["admissionReviewVersions"].as_array();
    let mut versions = versions.into_iter().flatten().filter_map(Value::as_str);
    versions
        .find(|version| matches!(*version, "v1" | "v1beta1"))
        .ok_or_else(|| {
            "webhook does not accept known AdmissionReview versions (v1, v1beta1)".into()
        })
}

/// The request without its object, for a webhook or policy that gets this kind.
pub(in crate::api::admission) fn request(
    core: &Core,
    attributes: &Attributes<'_>,
    kind: &ServedKind,
) -> Value {
    let triple = |[group, version, last]: Triple<'_>, field: &str| json!({"group": group, "version": version, field: last});
    let seen = own_kind(attributes.subresource);
    let seen = seen.unwrap_or([&kind.group, &kind.version, &kind.kind]);
    let mut request = json!({
        "uid": core.clock.uid(),
        "kind": triple(seen, "kind"),
        "resource": triple([&kind.group, &kind.version, &kind.plural], "resource"),
        "requestKind": triple(attributes.kind(), "kind"),
        "requestResource": triple(attributes.resource(), "resource"),
        "operation": attributes.operation.name(),
        "userInfo": attributes.user.info(),
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    });
    for (field, text) in [
        ("subResource", attributes.subresource),
        ("requestSubResource", attributes.subresource),
        ("name", attributes.name),
        ("namespace", attributes.namespace()),
    ] {
        if !text.is_empty() {
            request[field] = text.into();
        }
    }
    request
}

/// The AdmissionReview to send.
pub(super) fn review(
    version: &str,
    mut request: Value,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Value {
    request["object"] = object.cloned().unwrap_or_default();
    request["oldObject"] = old.cloned().unwrap_or_default();
    json!({"kind": "AdmissionReview", "apiVersion": format!("{GROUP}/{version}"), "request": request})
}

/// Reads the answer to the review with this UID.
///
/// # Errors
/// [`Unusable`] if the answer breaks a rule of its version.
pub(super) fn read(
    version: &str,
    uid: &Value,
    mutating: bool,
    body: &[u8],
) -> Result<Answer, Unusable> {
    let invalid = |why: String| Unusable::Invalid(why);
    let review: Value = serde_json::from_slice(body).map_err(|error| {
        invalid(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let response = &review["response"];
    if !response.is_object() {
        return Err(invalid("webhook response was absent".into()));
    }
    let is_v1 = version == "v1";
    if is_v1 && response["uid"] != *uid {
        let text = |uid: &Value| uid.as_str().unwrap_or_default().to_owned();
        return Err(invalid(format!(
            "expected response.uid={:?}, got {:?}",
            text(uid),
            text(&response["uid"])
        )));
    }
    let text = |field: &str| review[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let expected = format!("{GROUP}/{version}");
    if is_v1 && (api_version != expected || kind != "AdmissionReview") {
        let shown = match api_version.contains('/') {
            true => api_version.to_owned(),
            false => format!("/{api_version}"),
        };
        return Err(invalid(format!(
            "expected webhook response of {expected}, Kind=AdmissionReview, got {shown}, Kind={kind}"
        )));
    }
    let typed = Response::deserialize(response).map_err(|error| {
        invalid(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    Ok(Answer {
        allowed: typed.allowed,
        patch: patch(response, is_v1, mutating, typed.allowed)?,
        result: typed.status.map(Value::Object).unwrap_or_default(),
        warnings: typed.warnings.unwrap_or_default(),
        annotations: typed
            .audit_annotations
            .unwrap_or_default()
            .into_iter()
            .collect(),
    })
}

/// The fields of a response, with the types that a real server reads them into.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    allowed: bool,
    status: Option<Map<String, Value>>,
    warnings: Option<Vec<String>>,
    audit_annotations: Option<BTreeMap<String, String>>,
}

/// The patch of a response. Nothing reads that of a denial.
fn patch(
    response: &Value,
    is_v1: bool,
    mutating: bool,
    allowed: bool,
) -> Result<Option<Value>, Unusable> {
    let invalid = |why: &str| Err(Unusable::Invalid(why.into()));
    let encoded = match &response["patch"] {
        Value::String(text) if !text.is_empty() => Some(
            STANDARD
                .decode(text)
                .map_err(|error| Unusable::Invalid(format!("illegal base64 data: {error}"))),
        ),
        // Go reads the numbers of bytes, too.
        Value::Array(numbers) if !numbers.is_empty() => Some(bytes(numbers)),
        _ => None,
    };
    let kind = response.get("patchType").filter(|kind| !kind.is_null());
    if is_v1 && !mutating {
        if encoded.is_some() {
            return invalid("validating webhook may not return response.patch");
        }
        if kind.is_some() {
            return invalid("validating webhook may not return response.patchType");
        }
    }
    if is_v1 && mutating {
        match (&encoded, kind) {
            (Some(_), None) => {
                return invalid("webhook returned response.patch but not response.patchType");
            }
            (None, Some(_)) => {
                return invalid("webhook returned response.patchType but not response.patch");
            }
            (_, Some(kind)) if kind == "" => {
                return invalid("webhook returned invalid response.patchType of \"\"");
            }
            _ => {}
        }
    }
    let Some(decoded) = encoded.filter(|_| mutating) else {
        return Ok(None);
    };
    let decoded = decoded?;
    if !allowed {
        return Ok(None);
    }
    let patch: Value = serde_json::from_slice(&decoded)
        .map_err(|error| Unusable::UndecodablePatch(error.to_string()))?;
    let Some(operations) = patch.as_array() else {
        return Err(Unusable::UndecodablePatch(
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch".into(),
        ));
    };
    if operations.is_empty() {
        return Ok(None);
    }
    match kind.and_then(Value::as_str) {
        Some(kind) if is_v1 && kind != "JSONPatch" => Err(Unusable::PatchType(kind.into())),
        _ => Ok(Some(patch)),
    }
}

fn bytes(numbers: &[Value]) -> Result<Vec<u8>, Unusable> {
    let byte = |number: &Value| {
        let byte = number.as_u64().and_then(|number| u8::try_from(number).ok());
        byte.ok_or_else(|| {
            Unusable::Invalid(format!(
                "json: cannot unmarshal {number} into Go struct field AdmissionResponse.response.patch of type uint8"
            ))
        })
    };
    numbers.iter().map(byte).collect()
}
