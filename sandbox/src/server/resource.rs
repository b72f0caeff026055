use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body::Body as HttpBody;

use super::respond::Body;
use super::route::ResourceRoute;
use super::service::Incoming;
use super::{negotiate, respond, service};
use crate::api::ApiError;
use crate::core::Core;

/// Answers a request for a resource.
pub(super) async fn answer<B>(
    core: &Arc<Core>,
    route: ResourceRoute,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let registry = core.registry();
    if registry
        .find(&route.group, &route.version, &route.resource)
        .is_none()
    {
        return Ok(respond::no_such_path());
    }
    service::known_verb(route.verb)?;
    negotiate::negotiate(&incoming.accept, route.verb == "list")?;
    let _ = super::body::read(incoming.body).await?;
    Err(ApiError::not_implemented(format_args!(
        "{} of {}",
        route.verb, route.resource
    )))
}
