//! `AdmissionReview` of `admission.k8s.io/v1`: what the API server asks, and the answer.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::api::authentication::v1::UserInfo;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Denied, Operation, Warnings, patch, refused::Refused};
use crate::{
    client::decode_plain,
    resource::{ApiResource, Status},
};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The kind of an object, or of the options of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct GroupVersionKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl GroupVersionKind {
    pub(super) fn is(&self, resource: &ApiResource) -> bool {
        self.group == resource.group
            && self.version == resource.version
            && self.kind == resource.kind
    }

    /// `Deployment of apps/v1`.
    pub(super) fn shown(&self) -> String {
        let (slash, group) = match self.group.is_empty() {
            true => ("", ""),
            false => ("/", &*self.group),
        };
        format!("{} of {group}{slash}{}", self.kind, self.version)
    }
}

/// What the API server asks. The objects are still texts, so that only the code for their type reads them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewRequest {
    pub(super) uid: String,
    #[serde(default)]
    pub(super) kind: GroupVersionKind,
    #[serde(default)]
    pub(super) sub_resource: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) operation: Operation,
    #[serde(default)]
    pub(super) user_info: UserInfo,
    #[serde(default)]
    pub(super) object: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) old_object: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) dry_run: Option<bool>,
    #[serde(default)]
    pub(super) options: Option<Box<RawValue>>,
}

impl ReviewRequest {
    /// Reads a review.
    ///
    /// # Errors
    /// What is wrong with it. The text never contains a value.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refused> {
        let advice = "write that into `admissionReviewVersions`";
        let request: Self = request_of(body, KIND, API_VERSION, advice)?;
        match request.uid.is_empty() {
            true => Err(wrong("has an empty `request.uid`")),
            false => Ok(request),
        }
    }
}

/// The request of a review of this kind and version. `advice` says what to do about another version.
///
/// # Errors
/// What is wrong with the review. The text never contains a value.
pub(super) fn request_of<R: DeserializeOwned>(
    body: &[u8],
    kind: &str,
    api_version: &str,
    advice: &str,
) -> Result<R, Refused> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Review<R> {
        #[serde(default)]
        api_version: String,
        #[serde(default)]
        kind: String,
        request: Option<R>,
    }
    let review: Review<R> = decode_plain(body)
        .map_err(|problem| wrong(&format!("is not a valid {kind}: {problem}")))?;
    if review.kind != kind {
        return Err(wrong(&format!("has to be of kind {kind}")));
    }
    if review.api_version != api_version {
        return Err(wrong(&format!(
            "has to be of version {api_version}: {advice}"
        )));
    }
    review.request.ok_or_else(|| wrong("has no `request`"))
}

/// The error for a review in which something is wrong.
pub(super) fn wrong(problem: &str) -> Refused {
    Refused::bad_request(format!("the body {problem}"))
}

/// What a webhook decided.
pub(super) struct Decision {
    pub(super) outcome: Result<Allowed, Denied>,
    pub(super) audit: BTreeMap<String, String>,
}

/// A request that is allowed.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    pub(super) warnings: Warnings,
    pub(super) patch: Vec<patch::Operation>,
}

impl Decision {
    /// The answer to the request `uid`.
    pub(super) fn write(&self, uid: &str) -> Result<Vec<u8>, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Review<'a> {
            api_version: &'a str,
            kind: &'a str,
            response: Response<'a>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Response<'a> {
            uid: &'a str,
            allowed: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: Option<&'a Status>,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch_type: Option<&'a str>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            audit_annotations: &'a BTreeMap<String, String>,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            warnings: &'a [String],
        }
        let allowed = self.outcome.as_ref();
        let operations = allowed.map_or(&[][..], |allowed| &allowed.patch);
        let patch = match operations {
            [] => None,
            operations => Some(STANDARD.encode(serde_json::to_vec(operations)?)),
        };
        serde_json::to_vec(&Review {
            api_version: API_VERSION,
            kind: KIND,
            response: Response {
                uid,
                allowed: self.outcome.is_ok(),
                status: self.outcome.as_ref().err().map(|denied| &*denied.status),
                patch_type: patch.as_ref().map(|_| "JSONPatch"),
                patch,
                audit_annotations: &self.audit,
                warnings: allowed.map_or(&[][..], |allowed| &allowed.warnings.0),
            },
        })
    }
}
