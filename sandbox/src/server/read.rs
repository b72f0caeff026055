use std::sync::Arc;
use std::time::Duration;

use http::Response;

use super::negotiate::Form;
use super::options;
use super::render;
use super::request::Request;
use super::respond::{self, Body};
use super::stream::{Settings, stream};
use crate::api::{self, Target, Watch};
use crate::core::Core;
use crate::error::ApiError;
use crate::json;

pub(super) async fn get(core: &Arc<Core>, request: &Request) -> Result<Response<Body>, ApiError> {
    let version = request.query.get("resourceVersion");
    let target = &request.target;
    let stored = api::get(core, target, &request.name, version).await?;
    let pretty = request.query.flag("pretty");
    if request.subresource == "scale" {
        let object = api::read_scale(target, &target.read(&stored.value()))?;
        return Ok(respond::json(200, &object, pretty));
    }
    if request.form == Form::Object && !pretty {
        return Ok(respond::encoded(200, &render::read(target, &stored)));
    }
    let object = render::object(core, request, target.read(&stored.value()))?;
    Ok(respond::json(200, &object, pretty))
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

/// The shortest time, in seconds, that a watch without a timeout runs. The longest is twice that.
const MIN_TIMEOUT: u64 = 1800;
/// The longest timeout of a watch, in seconds: longer ones are not always representable.
const MAX_TIMEOUT: u64 = 365 * 24 * 3600;

pub(super) async fn watch(core: &Arc<Core>, request: Request) -> Result<Response<Body>, ApiError> {
    let query = &request.query;
    let timeout: u64 = match query.number("timeoutSeconds")? {
        None | Some(0) => MIN_TIMEOUT + core.clock.below(MIN_TIMEOUT),
        Some(seconds) => seconds.min(MAX_TIMEOUT),
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
    // The stream has begun by then, so the error is an event in it.
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
