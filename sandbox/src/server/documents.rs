use std::sync::Arc;

use http::Response;

use super::encoding::Encoding;
use super::health;
use super::identity;
use super::metrics;
use super::negotiate::{self, Offer};
use super::request::Incoming;
use super::respond::{self, Body};
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::Registry;
use crate::{discovery, openapi};

/// Answers paths that are not resources: health, metrics, discovery, OpenAPI.
///
/// # Errors
/// 404 for an unknown path. 405 for another method than GET and HEAD where a real server reads the method: it does not for health, OpenAPI
/// and the lists of groups.
pub(super) async fn handle<B>(
    core: &Arc<Core>,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError> {
    let registry = core.registry();
    let parts: Vec<&str> = incoming
        .record
        .path
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let is_read = matches!(incoming.record.method.as_str(), "GET" | "HEAD");
    if !is_read && matches!(parts.as_slice(), ["version"] | ["api"]) {
        return Err(ApiError::method_not_allowed());
    }
    let aggregated = discovery::wants_aggregated(&incoming.accept);
    if let Some(declared) = declared(core, &registry, &parts) {
        negotiate::check(&incoming.accept, &declared)?;
    }
    let document = match parts.as_slice() {
        [endpoint @ ("healthz" | "livez" | "readyz"), check @ ..] => {
            return Ok(health::handle(core, endpoint, check, &incoming.query).await);
        }
        ["metrics"] => return Ok(metrics::handle(core)),
        [".well-known", "openid-configuration"] => return Ok(identity::configuration(core)),
        ["openid", "v1", "jwks"] => return identity::keys(core, &incoming.accept),
        [] | ["index.html"] => Some(discovery::paths(&registry, &health::paths())),
        ["version"] => Some(discovery::server_version()),
        ["api"] | ["apis"] if aggregated.is_some() => {
            let document = discovery::aggregated(&registry, parts == ["api"]);
            let response = respond::typed_json(discovery::AGGREGATED, &document);
            let accepted = aggregated.unwrap_or(&incoming.accept);
            let encoding = negotiate::of_document(accepted, core.cbor);
            return Ok(encoding.translate(response, false).await);
        }
        ["api"] => Some(discovery::api_versions()),
        ["apis"] => Some(discovery::group_list(&registry)),
        ["apis", group] => discovery::group(&registry, group),
        ["api", version] => discovery::resource_list(&registry, "", version),
        ["apis", group, version] => discovery::resource_list(&registry, group, version),
        ["openapi", "v2"] => {
            return Ok(match openapi::wants_protobuf(&incoming.accept) {
                Some(media) => respond::bytes(200, media, openapi::swagger_protobuf(&registry)),
                None => respond::bytes(200, "application/json", openapi::swagger_json(&registry)),
            });
        }
        ["openapi", "v3"] => Some(openapi::index(&registry)),
        ["openapi", "v3", "api", version] => openapi::document(&registry, "", version),
        ["openapi", "v3", "apis", group, version] => openapi::document(&registry, group, version),
        _ => None,
    };
    match (document, parts.as_slice()) {
        (Some(_), ["api", _] | ["apis", _, _]) if !is_read => Err(ApiError::method_not_allowed()),
        (Some(document), _) => {
            let encoding = match parts.as_slice() {
                ["api" | "apis", ..] => negotiate::negotiate(&incoming.accept, &offer(core))?.1,
                _ => Encoding::Json,
            };
            let response = respond::json(200, &document, incoming.query.flag("pretty"));
            Ok(encoding.translate(response, false).await)
        }
        (None, ["api", ..]) => respond::unserved(&registry, ""),
        (None, ["apis", group, ..]) => respond::unserved(&registry, group),
        (None, _) => Ok(respond::no_such_path()),
    }
}

/// The media types that a real server declares for a path, if it looks at them before it looks for the document.
fn declared(core: &Core, registry: &Registry, parts: &[&str]) -> Option<Vec<&'static str>> {
    let is_built_in = |group: &str, version: &str| {
        let mut kinds = registry.kinds().iter();
        kinds.any(|kind| kind.group == group && kind.version == version && !kind.is_custom())
    };
    match parts {
        ["version"] => Some(vec!["application/json"]),
        ["api"] => Some(negotiate::declared(core.cbor, "get")),
        ["api", version] if is_built_in("", version) => Some(negotiate::declared(core.cbor, "get")),
        ["apis", group, version] if is_built_in(group, version) => {
            Some(negotiate::declared(core.cbor, "get"))
        }
        _ => None,
    }
}

fn offer(core: &Core) -> Offer {
    Offer {
        cbor: core.cbor,
        protobuf: true,
        yaml: true,
    }
}
