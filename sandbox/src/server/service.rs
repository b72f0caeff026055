use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, Request, Response};
use http_body::Body as HttpBody;

use super::access::{authorize, authorize_impersonation};
use super::pods::Upgrade;
use super::query::Query;
use super::request::Incoming;
use super::respond::{self, Body};
use super::reviews::{self, Review};
use super::route::{ResourceRoute, Route, route};
use super::{compress, documents, resource};
use crate::authentication::Trust;
use crate::core::Core;
use crate::fault::Fault;
use crate::record::RecordedRequest;

/// Answers one request. A failed request also gets a response.
///
/// # Errors
/// Only if a fault loses the response.
pub(super) async fn handle<B>(
    core: Arc<Core>,
    trust: Trust,
    request: Request<B>,
) -> io::Result<Response<Body>>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut parts, body) = request.into_parts();
    let upgrade = Upgrade::of(&mut parts);
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let route = route(&parts.method, parts.uri.path(), &query);
    let user = core.tokens.authenticate(
        &parts.headers,
        trust,
        core.clock.now(),
        |sender, user, groups| authorize_impersonation(&core, sender, user, groups),
    );
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
    let pretty = query.flag("pretty");
    let takes_gzip = compress::is_accepted(&parts.headers);
    let incoming = Incoming {
        accept: header(&parts.headers, ACCEPT),
        record: record.clone(),
        query,
        body,
        upgrade,
    };
    let user = user
        .and_then(|user| authorize(&core, &user, &route, &incoming.query, &record).map(|()| user));
    let fault = user.is_ok().then(|| core.faults.take(&record)).flatten();
    let allowed = user.and_then(|user| match &fault {
        Some(Fault::Answer(answer)) => Err(answer.to_error()),
        Some(Fault::Lost) | None => Ok(user),
    });
    let result = match (allowed, route) {
        (Ok(user), Route::Resource(route)) => match Review::of(&route) {
            Some(review) => reviews::handle(&core, review, &route, &user, incoming).await,
            None => resource::handle(&core, route, user.into_owned(), incoming).await,
        },
        (Ok(_), Route::Other) => documents::handle(&core, incoming).await,
        (Err(error), _) => Err(error),
    };
    let response = result.unwrap_or_else(|error| respond::error(&error, pretty));
    core.log.push(RecordedRequest {
        status: response.status().as_u16(),
        ..record
    });
    if matches!(fault, Some(Fault::Lost)) {
        return Err(io::Error::other("injected fault: the response is lost"));
    }
    if takes_gzip {
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
        Route::Other => RecordedRequest {
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
