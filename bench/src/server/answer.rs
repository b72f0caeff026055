//! Answers the requests.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, combinators::BoxBody};
use hyper::{Method, Response, StatusCode, header};
use serde_json::json;

use super::{
    Served, children, discovery,
    events::Events,
    form::{Form, Format},
    query::Query,
};

/// The largest part of a list that is passed to the connection at once.
const PART: usize = 256 * 1024;

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Answers a request. Unknown paths are printed to the standard error, because a peer may need them.
pub(super) fn answer(
    served: &Arc<Served>,
    method: &Method,
    path: &str,
    query: &str,
    accept: &str,
) -> Answer {
    if method != Method::GET {
        return failure(
            StatusCode::METHOD_NOT_ALLOWED,
            &format!("{method} {path}: this server only accepts reads, applies and Lease renewals"),
        );
    }
    let is_refused = |query: Query| query.watch && query.initial_events;
    if served.lacks.watch_list && Query::read(query).is_ok_and(is_refused) {
        return without_watch_list();
    }
    let Some(stock) = served.stock(path) else {
        if path == children::PATH {
            return children::answer(served, query, accept);
        }
        return match discovery::answer(path) {
            Some(value) => json(StatusCode::OK, Parts::new([value.to_string().into()])),
            None => failure(
                StatusCode::NOT_FOUND,
                &format!("{path}: the bench's server does not serve this path"),
            ),
        };
    };
    let format = stock.format(accept);
    match Query::read(query) {
        Ok(query) if query.watch => {
            let events = Events::new(served, stock, format, query.initial_events, query.version);
            written(StatusCode::OK, format.content_type(true), events)
        }
        Ok(mut query) => {
            if served.lacks.limit {
                query.limit = None;
            }
            let body = list(stock.form(format), &query);
            written(StatusCode::OK, format.content_type(false), body)
        }
        Err(wrong) => failure(StatusCode::BAD_REQUEST, &wrong),
    }
}

fn list(form: &dyn Form, query: &Query) -> Parts {
    let page = query.page(form.len());
    let (next, rest) = (page.end, form.len() - page.end);
    Parts::new(form.list(page, (rest > 0).then_some((next, rest))))
}

/// Returns the answer of an API server whose feature gate `WatchList` is off (apimachinery
/// `pkg/apis/meta/internalversion/validation/validation.go`).
fn without_watch_list() -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden \
            for watch unless the WatchList feature gate is enabled",
        "reason": "Invalid", "code": 422,
    });
    let body = Parts::new([status.to_string().into()]);
    json(StatusCode::UNPROCESSABLE_ENTITY, body)
}

pub(super) fn failure(code: StatusCode, message: &str) -> Answer {
    eprintln!("{message}");
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": code.canonical_reason().unwrap_or_default().replace(' ', ""), "code": code.as_u16(),
    });
    json(code, Parts::new([status.to_string().into()]))
}

pub(super) fn json(code: StatusCode, body: Parts) -> Answer {
    written(code, Format::Json.content_type(false), body)
}

pub(super) fn written(
    code: StatusCode,
    content_type: &'static str,
    body: impl Body<Data = Bytes, Error = Infallible> + Send + Sync + 'static,
) -> Answer {
    let mut response = Response::new(body.boxed());
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(content_type),
    );
    response
}

/// Prepared bytes, in parts of a size that a connection can take.
pub(super) struct Parts(VecDeque<Bytes>);

impl Parts {
    pub(super) fn new(parts: impl IntoIterator<Item = Bytes>) -> Self {
        Self(parts.into_iter().filter(|part| !part.is_empty()).collect())
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = match self.0.front_mut() {
            Some(large) if large.len() > PART => Some(large.split_to(PART)),
            _ => self.0.pop_front(),
        };
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|part| part.len() as u64).sum())
    }
}
