use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::{client::Body, resource::Status};

/// Why a request gets no review: the API server counts it as a failure of the webhook, and shows the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Refused {
    pub(super) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
        }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The response, with a `Status` as its body.
    pub(super) fn response(self) -> Response<Body> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document {
            api_version: &'static str,
            kind: &'static str,
            #[serde(flatten)]
            status: Status,
        }
        let status = Document {
            api_version: "v1",
            kind: "Status",
            status: Status {
                reason: self.reason.into(),
                ..Status::from_code(self.code.as_u16(), self.message)
            },
        };
        // A `Status` always becomes JSON. An empty body would lose no more than the message.
        let body = serde_json::to_vec(&status).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        if self.code == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
