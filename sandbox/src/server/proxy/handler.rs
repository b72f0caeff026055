use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderValue, LOCATION};
use http::{Response, StatusCode};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use super::forward::{Asked, forward};
use super::place::{of_pod, of_service};
use super::redirection::clean;
use crate::api::{self, Target};
use crate::authentication::User;
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::ServedKind;
use crate::server::request::Incoming;
use crate::server::respond::{self, Body};
use crate::server::route::ResourceRoute;
use crate::server::warnings;

/// Marks an answer that a program gave: it is passed on unchanged.
#[derive(Clone, Copy)]
pub(in crate::server) struct Passed;

/// Whether a request is for the proxy of a Pod or of a Service.
pub(in crate::server) fn serves(kind: &ServedKind, route: &ResourceRoute) -> bool {
    let is_of_pods = kind.group.is_empty() && matches!(kind.plural.as_str(), "pods" | "services");
    let is_proxy = route.subresource.as_deref() == Some("proxy") && !route.is_verb_in_path;
    is_of_pods && is_proxy && route.namespace.is_some()
}

/// The characters of a path that Go escapes in a URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// Passes a request on to a program in a Pod.
///
/// # Errors
/// 400, 404 and 503 if there is no such place or nobody answers there, 405 for another method, 501 for what is not simulated.
pub(in crate::server) async fn handle<B>(
    core: &Arc<Core>,
    target: Target,
    route: ResourceRoute,
    user: &User,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let method = incoming.record.method.as_str();
    if !METHODS.contains(&method) {
        return Err(ApiError::method_not_allowed());
    }
    if !incoming.query.get("dryRun").is_empty() {
        return Err(ApiError::bad_request("dryRun is not supported"));
    }
    let Some(original) = incoming.original else {
        return Err(ApiError::internal("the headers of the request are missing"));
    };
    let id = route.name.unwrap_or_default();
    let decoded = percent_decode_str(original.uri.path()).decode_utf8_lossy();
    let below = below(&decoded);
    let is_of_pod = target.kind.plural == "pods";
    let options = options(is_of_pod, &below);
    let of_user = (user, &incoming.audit);
    let warned = api::connect(core, &target, "proxy", &id, of_user, options).await?;
    let place = match is_of_pod {
        true => of_pod(core, &target, &id).await?,
        false => of_service(core, &target, &id).await?,
    };
    let missing = |what: &str| {
        let plural = &target.kind.plural;
        Err(ApiError::not_implemented(format!(
            "{what} through the subresource {plural}/proxy"
        )))
    };
    if incoming.upgrade.is_some() {
        return missing("connections that are upgraded");
    }
    let mut response = if below.is_empty() && matches!(method, "GET" | "HEAD") {
        let query = original.uri.query().map(|query| format!("?{query}"));
        to_root(&format!("{decoded}/{}", query.unwrap_or_default()))
    } else if place.is_tls {
        return missing("TLS");
    } else {
        let escaped = utf8_percent_encode(&below, ESCAPED).to_string();
        let mut uri = if escaped.is_empty() {
            "/".into()
        } else {
            escaped
        };
        if let Some(query) = original.uri.query() {
            uri = format!("{uri}?{query}");
        }
        let before = decoded.strip_suffix(below.as_str()).unwrap_or(&decoded);
        let asked = Asked {
            method: method.parse().unwrap_or_default(),
            uri,
            before: before.to_owned(),
            body: incoming.body.map_err(Into::into).boxed_unsync(),
        };
        forward(core, &place, original, asked).await?
    };
    response.extensions_mut().insert(Passed);
    warnings::add(&mut response, &warned);
    Ok(response)
}

/// The part of a path that the program gets: it is empty, or begins with a slash.
fn below(path: &str) -> String {
    // The beginning of a path: `/api/v1/namespaces/<name>/pods/<name>/proxy`.
    const PARTS: usize = 7;
    let trimmed = path.trim_matches('/');
    let rest = trimmed
        .splitn(PARTS + 1, '/')
        .nth(PARTS)
        .unwrap_or_default();
    let mut below = match rest {
        "" => String::new(),
        rest => clean(rest),
    };
    if path.ends_with('/') && !below.ends_with('/') {
        below.push('/');
    }
    below
}

/// The options of the connection as the object that those who admit it see.
fn options(is_of_pod: bool, below: &str) -> Value {
    let kind = match is_of_pod {
        true => "PodProxyOptions",
        false => "ServiceProxyOptions",
    };
    let mut options = json!({"apiVersion": "v1", "kind": kind});
    if !below.is_empty() {
        options["path"] = below.into();
    }
    options
}

/// The answer to a request without a path: relative links of the program need the slash.
fn to_root(location: &str) -> Response<Body> {
    let mut response = respond::bytes(301, "", Bytes::new());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let headers = response.headers_mut();
    headers.remove(http::header::CONTENT_TYPE);
    if let Ok(location) = HeaderValue::from_str(location) {
        headers.insert(LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_path_below_the_proxy() {
        let of = |rest: &str| below(&format!("/api/v1/namespaces/a/pods/b/proxy{rest}"));
        for (rest, expected) in [
            ("", ""),
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b/"),
            ("/a//b/../c", "/a/c"),
            ("//", "/"),
            ("/..", "/"),
        ] {
            assert_eq!(of(rest), expected, "{rest}");
        }
    }
}
