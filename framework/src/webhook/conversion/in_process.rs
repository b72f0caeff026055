use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use pilothouse_sandbox::Sandbox;

use super::review::ConversionRequest;
use crate::{
    resource::Versions,
    webhook::{Target, refused::JSON},
};

/// Lets the sandbox convert the objects of these kinds by a call in this process. Returns what their definitions have to name. No
/// operator of another name has the same target.
pub(crate) fn serve_in(sandbox: &Sandbox, operator: &str, kinds: Vec<Versions>) -> Target {
    let url = format!("https://{operator}.conversions.invalid");
    sandbox.webhook(&url, move |request: Request<Bytes>| {
        let answered = answer(&kinds, request.body());
        async move { answered }
    });
    Target::Url(url)
}

fn answer(kinds: &[Versions], body: &[u8]) -> Response<Bytes> {
    let review = match ConversionRequest::read(body) {
        Ok(review) => review,
        Err(refused) => {
            let mut response = Response::new(Bytes::from(refused.message));
            *response.status_mut() = refused.code;
            return response;
        }
    };
    let answer = review.convert(kinds, || false);
    let body = answer.and_then(|answer| answer.write().ok());
    let mut response = Response::new(Bytes::from(body.clone().unwrap_or_default()));
    if body.is_none() {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
