use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    client::decode_plain,
    resource::{Status, Versions},
    webhook::{
        refused::Refused,
        review::{request_of, wrong},
    },
};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// What the API server asks. The objects are still texts, so that only one of them is in memory as a value.
#[derive(Debug, Deserialize)]
pub(super) struct ConversionRequest {
    #[serde(default)]
    uid: String,
    /// The `apiVersion` that is wanted.
    #[serde(default, rename = "desiredAPIVersion")]
    to: String,
    #[serde(default)]
    objects: Vec<Box<RawValue>>,
}

impl ConversionRequest {
    /// Reads a review.
    ///
    /// # Errors
    /// What is wrong with it. The text never contains a value.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refused> {
        let advice = "write v1 into `conversionReviewVersions`";
        let request: Self = request_of(body, KIND, API_VERSION, advice)?;
        if request.uid.is_empty() {
            return Err(wrong("has an empty `request.uid`"));
        }
        match request.to.is_empty() {
            true => Err(wrong("has an empty `request.desiredAPIVersion`")),
            false => Ok(request),
        }
    }

    /// Converts all objects, and writes the answer. Returns `None` if `has_ended` says that nobody waits for it any more.
    ///
    /// The first object that cannot be converted fails the whole request, because an API server expects all objects or none.
    pub(super) fn convert(
        self,
        kinds: &[Versions],
        has_ended: impl Fn() -> bool,
    ) -> Option<Answer> {
        let mut converted = Vec::new();
        for (number, text) in self.objects.into_iter().enumerate() {
            if has_ended() {
                return None;
            }
            match convert_one(kinds, &text, &self.to) {
                Ok(object) => converted.push(object),
                Err(problem) => {
                    let message = match problem {
                        Problem::Object(text) => text,
                        Problem::Unknown(text) => format!("object {number} of the review {text}"),
                    };
                    return Some(Answer::failed(self.uid, message));
                }
            }
        }
        Some(Answer {
            uid: self.uid,
            result: Ok(converted),
        })
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }
}

enum Problem {
    /// The text names the object.
    Object(String),
    Unknown(String),
}

fn convert_one(kinds: &[Versions], text: &RawValue, to: &str) -> Result<Box<RawValue>, Problem> {
    let object: serde_json::Value = decode_plain(text.get().as_bytes())
        .map_err(|problem| Problem::Unknown(format!("cannot be read: {problem}")))?;
    let shown = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (kind, api_version) = (shown("kind"), shown("apiVersion"));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let versions = kinds
        .iter()
        .find(|versions| versions.stored().kind == kind && versions.stored().group == group);
    let Some(versions) = versions else {
        return Err(Problem::Unknown(format!(
            "is a {kind:?} in {api_version:?}, which this operator does not convert: correct the `spec.conversion` of its \
             CustomResourceDefinition"
        )));
    };
    let converted = versions.convert(object, to);
    let converted = converted.map_err(|error| Problem::Object(error.to_string()))?;
    serde_json::value::to_raw_value(&converted)
        .map_err(|_| Problem::Unknown("has no form as JSON after the conversion".into()))
}

/// The answer to a review.
pub(super) struct Answer {
    uid: String,
    result: Result<Vec<Box<RawValue>>, String>,
}

impl Answer {
    /// The answer if the objects cannot be converted. An API server shows the message to the client.
    pub(super) fn failed(uid: String, message: String) -> Self {
        Self {
            uid,
            result: Err(message),
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        self.result.is_err()
    }

    pub(super) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
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
            converted_objects: &'a [Box<RawValue>],
            result: Status,
        }
        let (converted_objects, result) = match &self.result {
            Ok(objects) => (
                &**objects,
                Status {
                    status: Some("Success".into()),
                    ..Status::default()
                },
            ),
            Err(message) => (&[][..], Status::from_code(422, message.clone())),
        };
        serde_json::to_vec(&Review {
            api_version: API_VERSION,
            kind: KIND,
            response: Response {
                uid: &self.uid,
                converted_objects,
                result,
            },
        })
    }
}
