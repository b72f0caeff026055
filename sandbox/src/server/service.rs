use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::access::{authorize, authorize_impersonation};
use super::deadline::{Limit, is_long_running};
use super::pods::Upgrade;
use super::proxy::{Original, Passed, Peer};
use super::query::Query;
use super::request::Incoming;
use super::respond::{self, Body, CreatedName, DryRun};
use super::reviews::{self, Review};
use super::route::{ResourceRoute, Route, route};
use super::{CONTROLS, compress, controls, documents, metrics, negotiate, resource, warnings};
use crate::authentication::Trust;
use crate::core::Core;
use crate::fault::Fault;
use crate::record::{Audit, Audited, RecordedRequest};

/// The ID of a request in the audit log.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Answers one request. A failed request also gets a response, and so does one whose handler panics.
///
/// # Errors
/// Only if a fault loses the response, or cuts off the client.
pub(super) async fn handle<B>(
    core: Arc<Core>,
    trust: Trust,
    request: Request<B>,
) -> io::Result<Response<Body>>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Boxed here, before several tasks wrap it: it is large, and each of them would copy it.
    recovered(Box::pin(answer(core, trust, request))).await
}

/// The outcome of a handler, or the answer of a real server if the handler panics: a bug, which should not break the other
/// requests of the connection.
async fn recovered(
    handler: impl Future<Output = io::Result<Response<Body>>>,
) -> io::Result<Response<Body>> {
    // No lock is poisoned, and no write is half done: the store takes each change as a whole.
    AssertUnwindSafe(handler)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| {
            tracing::error!("the sandbox panicked while it answered a request: this is a bug");
            let text = "This request caused apiserver to panic. Look in the logs for details\n";
            Ok(respond::bytes(500, "text/plain; charset=utf-8", text))
        })
}

async fn answer<B>(core: Arc<Core>, trust: Trust, request: Request<B>) -> io::Result<Response<Body>>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut parts, body) = request.into_parts();
    let upgrade = Upgrade::of(&mut parts);
    let received = core.clock.now();
    let begun = Instant::now();
    let _in_flight = core.metrics.begin(!parts.method.is_safe());
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let route = route(&parts.method, parts.uri.path(), &query);
    if route == Route::Unreadable {
        return Ok(respond::unreadable(&parts.uri));
    }
    // A client may choose the ID by which the audit log knows its request.
    let audit_id = parts.headers.get(&AUDIT_ID).cloned();
    let audit_id = audit_id.filter(|id| !id.is_empty() && id.to_str().is_ok());
    let audit_id = audit_id.or_else(|| core.audit_id().parse().ok());
    let is_long_running = is_long_running(&route);
    // As on a real server a wrong time limit is noticed first.
    let (limit, wrong) = match Limit::of(&route, &query) {
        Ok(limit) => (limit, None),
        Err(error) => (None, Some(error)),
    };
    let authenticated = match wrong {
        Some(error) => Err(error),
        None => core.tokens.authenticate(
            &parts.headers,
            &trust,
            (&core.store, received),
            |sender, user, groups| authorize_impersonation(&core, sender, user, groups),
        ),
    };
    let (user, sender) = match authenticated {
        Ok((user, sender)) => (Ok(user), sender),
        Err(error) => (Err(error), None),
    };
    let record = RecordedRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().into(),
        query: parts.uri.query().unwrap_or_default().into(),
        content_type: header(&parts.headers, CONTENT_TYPE),
        user_agent: header(&parts.headers, USER_AGENT),
        user: user
            .as_ref()
            .map(|user| user.name.clone())
            .unwrap_or_default(),
        ..named(&route, &parts.method)
    };
    let (audited_user, impersonated) = match (&user, &sender) {
        (Ok(user), Some(sender)) if core.log.is_audited() => (sender.info(), user.info()),
        (Ok(user), None) if core.log.is_audited() => (user.info(), Value::Null),
        _ => (Value::Null, Value::Null),
    };
    let is_control = core.controls && record.path.starts_with(CONTROLS);
    if !is_control && core.faults.cuts(&record) {
        return Err(io::Error::other("injected fault: the client is cut off"));
    }
    let is_review = matches!(&route, Route::Resource(route) if Review::of(route).is_some());
    // A dry run writes nothing, so there is nothing to wait for.
    let is_dry_run = !query.get("dryRun").is_empty();
    let writes = !parts.method.is_safe() && !is_review && !is_dry_run;
    let pretty = query.flag("pretty");
    let takes_gzip = compress::is_accepted(&parts.headers);
    let accept = header(&parts.headers, ACCEPT);
    let of_failure = negotiate::of_document(&accept, core.cbor);
    let audit = Audit::new(core.log.is_audited());
    let is_passed_on =
        matches!(&route, Route::Resource(route) if route.subresource.as_deref() == Some("proxy"));
    let original = is_passed_on.then(|| Original {
        uri: parts.uri.clone(),
        headers: parts.headers.clone(),
        client: parts.extensions.get().map(|Peer(address)| *address),
    });
    let mut incoming = Incoming {
        accept,
        record: record.clone(),
        query,
        body,
        upgrade,
        original,
        audit: audit.clone(),
        deadline: None,
    };
    let user = user.and_then(|user| {
        authorize(&core, &user, &route, &incoming.query, &record, &audit).map(|()| user)
    });
    let takes_fault = user.is_ok() && !is_control;
    let fault = takes_fault.then(|| core.faults.take(&record)).flatten();
    let allowed = user.and_then(|user| match &fault {
        Some(Fault::Answer(answer)) => Err(answer.to_error(&record)),
        Some(Fault::Lost | Fault::DelayedRequest(_) | Fault::DelayedResponse(_)) | None => Ok(user),
    });
    if let Some(Fault::DelayedRequest(by)) = fault {
        sleep(by).await;
    }
    // A fault that delays the request stands for the network.
    let deadline = limit.map(Limit::deadline);
    incoming.deadline = deadline;
    let result = match (allowed, route) {
        (Ok(user), Route::Resource(route)) => {
            let answer = async {
                match Review::of(&route) {
                    Some(review) => reviews::handle(&core, review, &route, &user, incoming).await,
                    None => resource::handle(&core, route, user.into_owned(), incoming).await,
                }
            };
            match limit.zip(deadline) {
                Some((limit, deadline)) => limit.until(deadline, answer).await,
                None => answer.await,
            }
        }
        (Ok(_), _) if is_control => controls::handle(&core, incoming).await,
        (Ok(_), Route::Other | Route::Unreadable) => documents::handle(&core, incoming).await,
        (Err(error), _) => Err(error),
    };
    // Also an error may tell of a change that is not on the disk yet.
    let was_dry_run = |response: &Response<Body>| response.extensions().get::<DryRun>().is_some();
    let result = match writes && !result.as_ref().is_ok_and(was_dry_run) {
        true => core.store.flushed().await.and(result),
        false => result,
    };
    let mut response = match result {
        Ok(response) => response,
        Err(error) => {
            if core.log.is_audited() {
                audit.answer(&error.to_status());
            }
            let response = respond::error(&error, pretty);
            of_failure.translate(response, false).await
        }
    };
    warnings::write(&mut response);
    if let Some(id) = &audit_id {
        response.headers_mut().insert(AUDIT_ID, id.clone());
    }
    let is_passed = response.extensions().get::<Passed>().is_some();
    if parts.method == Method::HEAD && !is_passed {
        respond::cut_body(&mut response);
    }
    let audited = || Audited {
        id: audit_id
            .as_ref()
            .and_then(|id| id.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        user: &audited_user,
        impersonated: &impersonated,
        received,
        answered: core.clock.now(),
        audit: &audit,
    };
    let record = RecordedRequest {
        status: response.status().as_u16(),
        ..record
    };
    if let Some(labels) = metrics::labels(&core, &record, is_dry_run) {
        let duration = (!labels.is_long_running()).then(|| begun.elapsed());
        core.metrics.answered(labels, record.status, duration);
    }
    let ending = match is_control {
        true => None,
        false => {
            // A connection that another protocol takes over has no body.
            let lasts = is_long_running && record.status != 101;
            let clock = core.clone();
            let created = response.extensions().get().map(|CreatedName(name)| &**name);
            let lasts = lasts.then_some(move || clock.clock.now());
            core.log.push(&record, created, audited, lasts)
        }
    };
    let response = match ending {
        Some(ending) => response.map(|body| {
            let held = move |frame| {
                let _until_the_body_ends = &ending;
                frame
            };
            body.map_frame(held).boxed_unsync()
        }),
        None => response,
    };
    match fault {
        Some(Fault::Lost) => {
            return Err(io::Error::other("injected fault: the response is lost"));
        }
        Some(Fault::DelayedResponse(by)) => sleep(by).await,
        _ => {}
    }
    if takes_gzip && !is_passed {
        return Ok(compress::gzip(response).await);
    }
    Ok(response)
}

fn header(headers: &HeaderMap, name: HeaderName) -> String {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

fn named(route: &Route, method: &http::Method) -> RecordedRequest {
    match route {
        Route::Resource(route) => of_resource(route),
        Route::Other | Route::Unreadable => RecordedRequest {
            verb: method.as_str().to_ascii_lowercase(),
            ..RecordedRequest::default()
        },
    }
}

fn of_resource(route: &ResourceRoute) -> RecordedRequest {
    RecordedRequest {
        verb: route.verb.into(),
        group: route.group.clone(),
        version: route.version.clone(),
        resource: route.resource.clone(),
        subresource: route.subresource.clone().unwrap_or_default(),
        namespace: route.namespace.clone().unwrap_or_default(),
        name: route.name.clone().unwrap_or_default(),
        ..RecordedRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_handler_that_panics_gets_an_answer() {
        let answer = recovered(async { panic!("a bug") }).await.unwrap();
        assert_eq!(answer.status(), 500);
    }
}
