use std::sync::Arc;

use http::Response;

use super::respond::{self, Body};
use super::service::Incoming;
use crate::api::ApiError;
use crate::core::Core;

/// Answers paths that are no resource: health, discovery, OpenAPI.
pub(super) async fn answer<B>(
    _core: &Arc<Core>,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError> {
    let path = incoming.record.path.trim_end_matches('/');
    match path {
        "/healthz" | "/livez" | "/readyz" => {
            Ok(respond::bytes(200, "text/plain; charset=utf-8", "ok"))
        }
        "/version" | "/api" | "/apis" | "/openapi/v2" => {
            Err(ApiError::not_implemented(format_args!("{path} yet")))
        }
        _ => Ok(respond::no_such_path()),
    }
}
