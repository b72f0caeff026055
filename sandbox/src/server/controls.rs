//! The controls of a test over HTTP, for clients in any language: the paths below `/sandbox/`.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::Body as HttpBody;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::pod_controls::{control_nodes, control_pods, control_programs};
use super::request::Incoming;
use super::respond::{self, Body};
use super::{CONTROLS, body};
use crate::core::Core;
use crate::error::ApiError;
use crate::fault::{Answer, RequestMatcher};
use crate::record::RecordedRequest;

/// The largest number of snapshots that a sandbox keeps for clients.
const SNAPSHOTS: usize = 64;

/// The reasons of a failure that API servers send.
const REASONS: [&str; 16] = [
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServiceUnavailable",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
];

/// The body of `POST /sandbox/faults`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlannedFault {
    fault: FaultKind,
    #[serde(default, rename = "match")]
    matcher: RequestMatcher,
    #[serde(default = "once")]
    times: usize,
    /// For `answer`.
    code: Option<u16>,
    reason: Option<String>,
    message: Option<String>,
    retry_after_seconds: Option<u64>,
    /// For the delays.
    milliseconds: Option<u64>,
}

fn once() -> usize {
    1
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum FaultKind {
    Answer,
    LoseResponse,
    DelayRequest,
    DelayResponse,
}

/// The body of `POST /sandbox/watches`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchControl {
    action: WatchAction,
    #[serde(default, rename = "match")]
    matcher: RequestMatcher,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WatchAction {
    Drop,
    Close,
    Expire,
    Hold,
    Release,
}

/// The body of `POST /sandbox/caches`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CacheControl {
    action: CacheAction,
    #[serde(default, rename = "match")]
    matcher: RequestMatcher,
    /// For `hold`.
    resource_version: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum CacheAction {
    Hold,
    Release,
}

/// The body of `POST /sandbox/clock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockControl {
    action: ClockAction,
    /// For `advance`.
    seconds: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ClockAction {
    Advance,
    Pause,
    Resume,
}

/// The body of `POST /sandbox/partitions`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Partition {
    #[serde(rename = "match")]
    matcher: RequestMatcher,
}

/// The body of `POST /sandbox/services`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServiceAddress {
    service: String,
    address: String,
}

/// Answers a request for a control.
///
/// # Errors
/// 400 if the body is not what the control needs, 404 for an unknown path or snapshot, 405 for another method, 429 beyond the number of snapshots.
pub(super) async fn handle<B>(
    core: &Core,
    incoming: Incoming<B>,
) -> Result<Response<Body>, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let RecordedRequest { method, path, .. } = incoming.record;
    let body = body::read(core, incoming.body).await?;
    let parts: Vec<&str> = path
        .strip_prefix(CONTROLS)
        .unwrap_or_default()
        .split('/')
        .collect();
    let faults = &core.faults;
    let done = match (method.as_str(), parts.as_slice()) {
        ("GET", ["requests"]) => {
            let items: Vec<Value> = core.log.all().iter().map(shown).collect();
            json!({"items": items})
        }
        ("DELETE", ["requests"]) => {
            core.log.clear();
            json!({})
        }
        ("POST", ["faults"]) => {
            plan(core, read(&body)?)?;
            json!({})
        }
        ("DELETE", ["faults"]) => {
            faults.clear();
            json!({})
        }
        ("POST", ["figures"]) => {
            set_figure(core, read(&body)?)?;
            json!({})
        }
        ("DELETE", ["figures"]) => {
            core.figures.clear();
            json!({})
        }
        ("POST", ["partitions"]) => {
            let Partition { matcher } = read(&body)?;
            faults.partition(matcher);
            json!({})
        }
        ("DELETE", ["partitions"]) => {
            faults.heal();
            json!({})
        }
        ("POST", ["pods"]) => {
            control_pods(core, read(&body)?)?;
            json!({})
        }
        ("POST", ["programs"]) => {
            control_programs(core, read(&body)?)?;
            json!({})
        }
        ("POST", ["nodes"]) => {
            control_nodes(core, &read(&body)?)?;
            json!({})
        }
        ("POST", ["watches"]) => json!({"watches": control_watches(core, read(&body)?)}),
        ("POST", ["caches"]) => {
            control_caches(core, read(&body)?)?;
            json!({})
        }
        ("GET", ["clock"]) => shown_clock(core),
        ("POST", ["clock"]) => {
            control_clock(core, read(&body)?)?;
            shown_clock(core)
        }
        ("POST", ["compact"]) => {
            faults.compact();
            json!({})
        }
        ("POST", ["snapshots"]) => {
            let mut snapshots = core.snapshots.lock();
            if snapshots.len() == SNAPSHOTS {
                let text = format!("the sandbox keeps at most {SNAPSHOTS} snapshots: delete one");
                return Err(ApiError::new(429, "TooManyRequests", text));
            }
            let name = snapshots.keys().next_back().map_or(1, |last| last + 1);
            snapshots.insert(name, core.store.save());
            json!({"name": name.to_string()})
        }
        ("DELETE", ["snapshots", name]) => {
            let removed = core.snapshots.lock().remove(&number(name)?);
            removed
                .map(|_| json!({}))
                .ok_or_else(|| no_snapshot(name))?
        }
        ("POST", ["services"]) => {
            let ServiceAddress { service, address } = read(&body)?;
            let set = core.calls.set_address(&service, &address);
            set.map_err(ApiError::bad_request)?;
            json!({})
        }
        ("POST", ["snapshots", name, "restore"]) => {
            let snapshots = core.snapshots.lock();
            let saved = snapshots.get(&number(name)?);
            core.store.restore(saved.ok_or_else(|| no_snapshot(name))?);
            json!({})
        }
        ("POST", ["snapshots", name, "rewind"]) => {
            let snapshots = core.snapshots.lock();
            let saved = snapshots.get(&number(name)?);
            core.rewind(saved.ok_or_else(|| no_snapshot(name))?);
            json!({})
        }
        (
            _,
            [
                "requests" | "faults" | "figures" | "partitions" | "watches" | "caches" | "clock"
                | "compact" | "snapshots" | "services" | "pods" | "programs" | "nodes",
            ]
            | ["snapshots", _]
            | ["snapshots", _, "restore" | "rewind"],
        ) => return Err(ApiError::method_not_allowed()),
        _ => return Ok(respond::no_such_path()),
    };
    Ok(respond::json(200, &done, incoming.query.flag("pretty")))
}

/// Sets the figure of a body such as `{"type": "resource", "workload": "web", "name": "cpu", "quantity": "250m"}`.
fn set_figure(core: &Core, mut body: Value) -> Result<(), ApiError> {
    let quantity = body
        .as_object_mut()
        .and_then(|fields| fields.remove("quantity"));
    let quantity = match quantity {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        _ => {
            return Err(ApiError::bad_request(
                "the figure needs the field `quantity`: a text or a number",
            ));
        }
    };
    let measured = serde_json::from_value(body)
        .map_err(|error| ApiError::bad_request(format!("the body of the control: {error}")))?;
    let set = core.figures.set(measured, &quantity);
    set.map_err(|error| ApiError::bad_request(format!("`quantity`: {error}")))
}

fn plan(core: &Core, planned: PlannedFault) -> Result<(), ApiError> {
    let PlannedFault {
        fault,
        matcher,
        times,
        ..
    } = planned;
    let delay = planned.milliseconds.map(Duration::from_millis);
    let needs = |field: &str| needs("fault", field);
    let delay = || delay.ok_or_else(|| needs("milliseconds"));
    match fault {
        FaultKind::Answer => {
            let code = planned.code.ok_or_else(|| needs("code"))?;
            if !(400..600).contains(&code) {
                let text = format!("`code` is {code}: write a code from 400 to 599");
                return Err(ApiError::bad_request(text));
            }
            let given = planned.reason.unwrap_or_default();
            let reason = REASONS.into_iter().find(|reason| *reason == given);
            let reason = reason.or(given.is_empty().then_some("")).ok_or_else(|| {
                let known = REASONS.join(", ");
                ApiError::bad_request(format!(
                    "`reason` is {given:?}: write one of {known}, or none"
                ))
            })?;
            let mut answer = Answer::status(code, reason);
            if reason.is_empty() {
                answer = answer.message(format!("injected fault: {code}"));
            }
            if let Some(message) = planned.message {
                answer = answer.message(message);
            }
            if let Some(seconds) = planned.retry_after_seconds {
                answer = answer.retry_after(Duration::from_secs(seconds));
            }
            core.faults.answer(matcher, answer, times);
        }
        FaultKind::LoseResponse => core.faults.lose_responses(matcher, times),
        FaultKind::DelayRequest => core.faults.delay_requests(matcher, delay()?, times),
        FaultKind::DelayResponse => core.faults.delay_responses(matcher, delay()?, times),
    }
    Ok(())
}

/// Returns the number of watches that the control concerns.
fn control_watches(core: &Core, control: WatchControl) -> usize {
    let (faults, matcher) = (&core.faults, control.matcher);
    match control.action {
        WatchAction::Drop => faults.drop_watches(&matcher),
        WatchAction::Close => faults.close_watches(&matcher),
        WatchAction::Expire => faults.expire_watches(&matcher),
        WatchAction::Hold => {
            let held = faults.running_watches(&matcher);
            faults.hold_watches(matcher);
            held
        }
        WatchAction::Release => {
            faults.release_watches();
            faults.running_watches(&RequestMatcher::any())
        }
    }
}

fn control_caches(core: &Core, control: CacheControl) -> Result<(), ApiError> {
    let CacheControl {
        action,
        matcher,
        resource_version,
    } = control;
    match action {
        CacheAction::Hold => {
            let version = resource_version.map(|text| {
                text.parse().map_err(|_| {
                    ApiError::bad_request(format!(
                        "`resourceVersion` is {text:?}: write the resource version of an object or a list, such as \"12\""
                    ))
                })
            });
            core.faults.hold_caches(matcher, version.transpose()?);
        }
        CacheAction::Release => core.faults.release_caches(),
    }
    Ok(())
}

fn control_clock(core: &Core, control: ClockControl) -> Result<(), ApiError> {
    match control.action {
        ClockAction::Advance => {
            let seconds = control.seconds.ok_or_else(|| needs("control", "seconds"))?;
            core.clock.advance(Duration::from_secs(seconds));
        }
        ClockAction::Pause => core.clock.pause(),
        ClockAction::Resume => core.clock.resume(),
    }
    Ok(())
}

fn shown_clock(core: &Core) -> Value {
    json!({"now": core.clock.timestamp(), "paused": core.clock.is_paused()})
}

fn needs(what: &str, field: &str) -> ApiError {
    ApiError::bad_request(format!("the {what} needs the field `{field}`"))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the body of the control: {error}")))
}

fn number(name: &str) -> Result<u64, ApiError> {
    name.parse().map_err(|_| no_snapshot(name))
}

fn no_snapshot(name: &str) -> ApiError {
    ApiError::new(404, "NotFound", format!("there is no snapshot {name:?}"))
}

/// A recorded request as JSON. Empty parts are left out.
fn shown(request: &RecordedRequest) -> Value {
    let parts = [
        ("verb", &request.verb),
        ("method", &request.method),
        ("path", &request.path),
        ("query", &request.query),
        ("group", &request.group),
        ("version", &request.version),
        ("resource", &request.resource),
        ("subresource", &request.subresource),
        ("namespace", &request.namespace),
        ("name", &request.name),
        ("contentType", &request.content_type),
        ("userAgent", &request.user_agent),
        ("user", &request.user),
    ];
    let set = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let mut shown: Value = set
        .map(|(key, value)| (key.to_owned(), Value::from(value.as_str())))
        .collect();
    shown["status"] = request.status.into();
    shown
}
