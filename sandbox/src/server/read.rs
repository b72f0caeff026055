use std::sync::Arc;
use std::time::Duration;

use http::Response;

use super::options;
use super::render;
use super::resource::Request;
use super::respond::{self, Body};
use super::stream::{Settings, stream};
use crate::api::{self, ApiError, Target, Watch};
use crate::core::Core;
use crate::json;

pub(super) async fn get(core: &Arc<Core>, request: &Request) -> Result<Response<Body>, ApiError> {
    let version = request.query.get("resourceVersion");
    let mut object = api::get(core, &request.target, &request.name, version).await?;
    if request.subresource == "scale" {
        object = api::read_scale(&request.target, &object)?;
        return Ok(respond::json(200, &object, request.query.flag("pretty")));
    }
    let object = render::object(core, request, object)?;
    Ok(respond::json(200, &object, request.query.flag("pretty")))
}

pub(super) async fn list(core: &Arc<Core>, request: &Request) -> Result<Response<Body>, ApiError> {
    let listed = api::list(core, &request.target, &options::list(request)?).await?;
    let text = render::list(core, request, &listed)?;
    if request.query.flag("pretty")
        && let Ok(document) = json::read(&text)
    {
        return Ok(respond::json(200, &document.value, true));
    }
    Ok(respond::bytes(200, "application/json", text))
}

/// Shortest time a watch runs that names no timeout; the longest is twice that.
const TIMEOUT: u64 = 1800;
/// Longest time a watch may ask for: further times cannot all be represented.
const LONGEST: u64 = 365 * 24 * 3600;

pub(super) async fn watch(core: &Arc<Core>, request: Request) -> Result<Response<Body>, ApiError> {
    let query = &request.query;
    let timeout: u64 = match query.number("timeoutSeconds")? {
        None | Some(0) => TIMEOUT + core.clock.below(TIMEOUT),
        Some(seconds) => seconds.min(LONGEST),
    };
    let (asked, at_least) = options::watch(&request)?;
    let settings = Settings {
        bookmarks: query.flag("allowWatchBookmarks"),
        timeout: Duration::from_secs(timeout),
        form: request.form,
        include: render::include(&request)?,
    };
    let target = Target::clone(&request.target);
    let late = api::at_least(core, at_least).await.err();
    let watch = Watch::open(core, target, asked);
    let mut watch = watch.ok_or_else(|| request.target.not_found(""))?;
    // A state that does not come is told in the stream: it has begun by then.
    if let Some(error) = late {
        watch.fail(error);
    }
    Ok(respond::stream(stream(
        core,
        watch,
        settings,
        request.record,
    )))
}
