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
    let cached = cached(core, request, wanted(request)).await?;
    let stored = api::get(core, target, &request.name, version, cached).await?;
    let pretty = request.query.flag("pretty");
    if request.subresource == "scale" {
        let object = api::read_scale(target, &target.read(&stored.value()))?;
        let object = render::scale(core, request, object)?;
        return Ok(respond::json(200, &object, pretty));
    }
    if request.form == Form::Object && !pretty {
        return Ok(respond::encoded(200, &render::read(target, &stored)));
    }
    let object = render::object(core, request, target.read(&stored.value()))?;
    Ok(respond::json(200, &object, pretty))
}

/// The resource version of the cache that answers a read, if a fault holds the cache back. Waits until the cache has reached `wanted`.
///
/// # Errors
/// 504 if it has not in time, as from a real server.
async fn cached(core: &Core, request: &Request, wanted: u64) -> Result<Option<u64>, ApiError> {
    let reached = core.faults.cache_reached(&request.record, wanted);
    let reached = tokio::time::timeout(api::VERSION_TIMEOUT, reached).await;
    reached.map_err(|_| {
        let cached = core.faults.cache(&request.record);
        ApiError::too_large_resource_version(wanted, cached.unwrap_or_default())
    })
}

/// The resource version that a get or list wants at least. A wrong one is refused elsewhere.
fn wanted(request: &Request) -> u64 {
    let version = request.query.get("resourceVersion");
    version.parse().unwrap_or_default()
}

pub(super) async fn list(core: &Arc<Core>, request: &Request) -> Result<Response<Body>, ApiError> {
    let mut options = options::list(request)?;
    options.cached = cached(core, request, wanted(request)).await?;
    let listed = api::list(core, &request.target, &options).await?;
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
    // Without a version, a list in the form of a watch is of the newest state.
    let is_newest = query.flag("sendInitialEvents") && query.get("resourceVersion").is_empty();
    let wanted = if is_newest {
        core.store.version()
    } else {
        at_least
    };
    let late = match api::at_least(core, at_least).await {
        Ok(()) => cached(core, &request, wanted).await.err(),
        Err(error) => Some(error),
    };
    let cached = core.faults.cache(&request.record);
    let watch = Watch::open(core, target, asked, cached);
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
