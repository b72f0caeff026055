use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body::Body as HttpBody;

use super::negotiate::{self, Offer, negotiate};
use super::request::{Incoming, Request};
use super::respond::{self, Body};
use super::route::ResourceRoute;
use super::{
    body, component_statuses, patch, pods, protobuf, proxy, read, warnings, watch_path, write,
};
use crate::api::Target;
use crate::authentication::User;
use crate::builtin;
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::ServedKind;
use crate::stack;

/// Answers a request for a resource.
///
/// # Errors
/// The `Status` of the response.
pub(super) async fn handle<B>(
    core: &Arc<Core>,
    route: ResourceRoute,
    user: User,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let registry = core.registry();
    let Some(kind) = registry.find(&route.group, &route.version, &route.resource) else {
        return respond::unserved(&registry, &route.group);
    };
    if route.verb == "proxy" {
        return Err(ApiError::no_such_resource());
    }
    let target = Target::new(kind, route.namespace.as_deref());
    if proxy::serves(&target.kind, &route) {
        return proxy::handle(core, target, route, &user, incoming).await;
    }
    if incoming.record.method == "HEAD" {
        return Err(ApiError::method_not_allowed());
    }
    if target.kind.is_custom() && is_elsewhere(&target, &route) {
        return Ok(respond::no_such_path());
    }
    if pods::serves(&target.kind, &route) {
        let Incoming {
            query,
            upgrade,
            audit,
            ..
        } = incoming;
        return pods::handle(core, target, route, (&user, &audit), query, upgrade).await;
    }
    match route.is_verb_in_path {
        true => watch_path::check(&target, &route, &incoming.record.method)?,
        false => check(&target, &route)?,
    }
    if !target.kind.is_custom() {
        let declared = negotiate::declared(core.cbor, route.verb);
        negotiate::check(&incoming.accept, &declared)?;
    }
    let (form, encoding) = negotiate(&incoming.accept, &offer(core, &target, &route))?;
    let query = match route.is_verb_in_path {
        true => watch_path::query(incoming.query, &target.kind, route.name.as_deref())?,
        false => incoming.query,
    };
    let mut request = Request {
        target,
        verb: route.verb,
        name: route.name.unwrap_or_default(),
        subresource: route.subresource.unwrap_or_default(),
        form,
        query,
        body: body::read(core, incoming.body).await?,
        record: incoming.record,
        user,
        audit: incoming.audit,
        deadline: incoming.deadline,
    };
    translate(core, &mut request).await?;
    let kind = request.target.kind.clone();
    let is_watch = route.verb == "watch";
    let answer = match route.verb {
        _ if component_statuses::is_kind(&kind) => component_statuses::handle(core, &request),
        "get" => read::get(core, &request).await,
        "list" => read::list(core, &request).await,
        "watch" => read::watch(core, request).await,
        // A few copies of copies make a value that is deeper than the request.
        "patch" if body::media_type(&request.record.content_type) == patch::JSON => {
            stack::Large::new(write::handle(core, &request)).await
        }
        _ => write::handle(core, &request).await,
    };
    let answer = match &kind.deprecated {
        Some(text) => answer
            .map_err(|error| error.warned_first(text))
            .map(|mut answer| {
                warnings::add_first(&mut answer, text);
                answer
            }),
        None => answer,
    };
    Ok(encoding.translate(answer?, is_watch).await)
}

/// Objects of custom kinds have no form in protobuf.
fn offer(core: &Core, target: &Target, route: &ResourceRoute) -> Offer {
    let subresource = route.subresource.as_deref().unwrap_or_default();
    let (api_version, kind) = kind_of(target, route.verb, subresource);
    Offer {
        cbor: core.cbor,
        protobuf: !target.kind.is_custom() && protobuf::has_message(&api_version, kind),
        yaml: route.verb != "watch",
    }
}

/// The `apiVersion` and the kind of the object in a request.
fn kind_of<'a>(target: &'a Target, verb: &str, subresource: &str) -> (String, &'a str) {
    let (api_version, kind) = match (verb, subresource) {
        ("delete" | "deletecollection", _) => ("meta.k8s.io/v1", "DeleteOptions"),
        (_, "eviction") => ("policy/v1", "Eviction"),
        (_, "binding") => ("v1", "Binding"),
        (_, "token") => ("authentication.k8s.io/v1", "TokenRequest"),
        (_, "scale") => ("autoscaling/v1", "Scale"),
        _ => return (target.kind.api_version(), &target.kind.kind),
    };
    (api_version.to_owned(), kind)
}

/// Translates the body of a request to JSON.
async fn translate(core: &Core, request: &mut Request) -> Result<(), ApiError> {
    let is_protobuf = body::media_type(&request.record.content_type) == protobuf::MEDIA;
    let is_object = matches!(request.verb, "create" | "update");
    if is_protobuf && is_object && request.target.kind.is_custom() {
        // A real server crashes on it, and closes the stream without an answer.
        return Err(body::unknown_format(&[
            "application/json",
            "application/yaml",
        ]));
    }
    let is_deletion = matches!(request.verb, "delete" | "deletecollection");
    if is_protobuf && !is_object && (!is_deletion || request.body.is_empty()) {
        return Ok(());
    }
    let (api_version, kind) = kind_of(&request.target, request.verb, &request.subresource);
    let content_type = &request.record.content_type;
    let translated = body::translate(core, content_type, &request.body, (&api_version, kind));
    if let Some((media_type, body)) = translated.await? {
        request.record.content_type = media_type.to_owned();
        request.body = body;
    }
    Ok(())
}

/// Whether the path has a namespace and the kind is cluster-scoped, or the other way round.
fn is_elsewhere(target: &Target, route: &ResourceRoute) -> bool {
    let kind = &target.kind;
    let whole = route.name.is_none() && matches!(route.verb, "list" | "watch");
    let whole = whole || route.is_verb_in_path;
    match &route.namespace {
        Some(_) => !kind.namespaced && kind.plural != "namespaces",
        None => kind.namespaced && !whole,
    }
}

/// Checks that the kind has this verb on this path.
///
/// # Errors
/// 404, 405 or 501 if it does not.
fn check(target: &Target, route: &ResourceRoute) -> Result<(), ApiError> {
    let kind = &target.kind;
    let subresource = route.subresource.as_deref().unwrap_or_default();
    if is_elsewhere(target, route) {
        // The path exists for reads across all namespaces.
        let is_path = kind.namespaced && route.name.is_none() && kind.allows("list");
        return Err(if is_path {
            ApiError::method_not_allowed()
        } else {
            ApiError::no_such_resource()
        });
    }
    if kind.is_custom() && subresource.is_empty() && route.name.is_none() {
        // A new object has its name in the body; other requests need one in the path.
        if matches!(route.verb, "update" | "patch") {
            return Err(ApiError::bad_request("name must be provided"));
        }
    }
    if !kind.is_custom() {
        return check_built_in(kind, route, subresource);
    }
    match (subresource, route.verb) {
        ("", verb) if kind.allows(verb) => Ok(()),
        ("", _) => Err(ApiError::method_not_allowed()),
        ("status", "get" | "update" | "patch") if kind.status => Ok(()),
        ("scale", "get" | "update" | "patch") if kind.scale.is_some() => Ok(()),
        ("status", _) if kind.status => Err(ApiError::method_not_supported(
            &target.resource(),
            route.verb,
        )),
        ("scale", _) if kind.scale.is_some() => Err(ApiError::method_not_supported(
            &target.resource(),
            route.verb,
        )),
        ("status" | "scale", "create" | "delete") => Err(ApiError::method_not_allowed()),
        _ => Err(target.not_found(route.name.as_deref().unwrap_or_default())),
    }
}

fn check_built_in(
    kind: &ServedKind,
    route: &ResourceRoute,
    subresource: &str,
) -> Result<(), ApiError> {
    let verb = route.verb;
    if subresource.is_empty() {
        if route.name.is_some() && !kind.allows("get") {
            return Err(ApiError::no_such_resource());
        }
        let is_of_object = !matches!(verb, "list" | "watch" | "create" | "deletecollection");
        // A watch of components is refused later, with another text.
        let is_known = kind.allows(verb) || verb == "watch" && component_statuses::is_kind(kind);
        if !is_known || route.name.is_some() != is_of_object {
            return Err(ApiError::method_not_allowed());
        }
        return Ok(());
    }
    let Some(known) = builtin::subresource(kind, subresource) else {
        return Err(ApiError::no_such_resource());
    };
    if subresource == "proxy" {
        let below = if route.rest {
            " and the paths below it"
        } else {
            ""
        };
        let feature = format!("the subresource {}/proxy{below}", kind.plural);
        return Err(ApiError::not_implemented(feature));
    }
    if route.rest {
        return Err(ApiError::no_such_resource());
    }
    if !known.verbs.iter().any(|known| known == verb) {
        return Err(ApiError::method_not_allowed());
    }
    Ok(())
}
