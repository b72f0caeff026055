//! The options of a request: from its query, and for deletions from its body.

use serde_json::{Map, Value};

use super::body;
use super::query::Query;
use super::request::Request;
use crate::api::{
    self, DeleteOptions, FieldValidation, ListRequest, Propagation, Start, VersionMatch,
    WatchRequest, WriteOptions,
};
use crate::error::{ApiError, Cause};
use crate::store::selector::{FieldSelector, LabelSelector, Selection};

/// The label and field selectors of a request.
///
/// # Errors
/// 400 if a selector is invalid.
pub(super) fn selection(request: &Request) -> Result<Selection, ApiError> {
    let kind = &request.target.kind;
    let labels = LabelSelector::parse(request.query.get("labelSelector"));
    let labels = labels.map_err(|error| ApiError::bad_request(error.to_string()));
    let fields = FieldSelector::parse(request.query.get("fieldSelector"), kind);
    Ok(Selection {
        labels: labels?,
        fields: fields.map_err(ApiError::bad_request)?,
    })
}

fn version_match(query: &Query) -> Option<VersionMatch> {
    match query.get("resourceVersionMatch") {
        "Exact" => Some(VersionMatch::Exact),
        "NotOlderThan" => Some(VersionMatch::NotOlderThan),
        _ => None,
    }
}

/// Checks that the parameters of a list do not contradict each other.
///
/// # Errors
/// 422 if they do.
pub(super) fn check_list(query: &Query) -> Result<(), ApiError> {
    const FIELD: &str = "resourceVersionMatch";
    let version = query.get("resourceVersion");
    let mut causes = Vec::new();
    let mut forbidden = |detail: &str| causes.push(Cause::forbidden(FIELD, detail));
    match query.get(FIELD) {
        "" => {}
        given => {
            if version.is_empty() {
                forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !query.get("continue").is_empty() {
                forbidden(CONTINUED);
            }
            if given == "Exact" && version == "0" {
                forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
            }
            if version_match(query).is_none() {
                let known = ["Exact", "NotOlderThan", ""];
                causes.push(Cause::not_supported(FIELD, given, &known));
            }
        }
    }
    if query.find("sendInitialEvents").is_some() {
        let detail = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", detail));
    }
    list_options(causes)
}

/// Whether a watch begins with the initial state. Returns `None` if it begins after a resource version. Clients can
/// also ask for the state in the older way: they send no version.
fn initial_events(query: &Query) -> Option<bool> {
    let version = query.get("resourceVersion");
    let older = query.get("resourceVersionMatch").is_empty() && matches!(version, "" | "0");
    match query.find("sendInitialEvents") {
        None => older.then_some(true),
        Some(_) => Some(query.flag("sendInitialEvents")),
    }
}

/// Checks that the parameters of a watch do not contradict each other.
///
/// # Errors
/// 422 if they do.
fn check_watch(query: &Query) -> Result<(), ApiError> {
    const FIELD: &str = "resourceVersionMatch";
    let initial = query.find("sendInitialEvents").is_some();
    let given = query.get(FIELD);
    let mut causes = Vec::new();
    let mut forbidden = |detail: &str| causes.push(Cause::forbidden(FIELD, detail));
    if initial && given != "NotOlderThan" {
        forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if !initial && !given.is_empty() {
        forbidden(
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        );
    }
    let matched = !given.is_empty() || initial_events(query).is_some();
    if matched && !query.get("continue").is_empty() {
        forbidden(CONTINUED);
    }
    if !matches!(given, "" | "NotOlderThan") {
        causes.push(Cause::not_supported(FIELD, given, &["NotOlderThan"]));
    }
    list_options(causes)
}

const CONTINUED: &str = "resourceVersionMatch is forbidden when continue is provided";

fn list_options(causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid_kind(
        "meta.k8s.io",
        "ListOptions",
        "",
        causes,
    ))
}

/// The parameters of a list.
///
/// # Errors
/// 400 and 422 if parameters are invalid.
pub(super) fn list(request: &Request) -> Result<ListRequest, ApiError> {
    let query = &request.query;
    let limit = query.number::<i64>("limit")?;
    let selection = selection(request)?;
    check_list(query)?;
    Ok(ListRequest {
        selection,
        // Missing, zero or negative: no limit.
        limit: limit.map_or(0, |limit| usize::try_from(limit).unwrap_or(0)),
        continue_token: query.get("continue").into(),
        version: query.get("resourceVersion").into(),
        version_match: version_match(query),
        cached: None,
    })
}

/// The parameters of a watch, and the lowest resource version of its initial state.
///
/// # Errors
/// 400 if parameters are invalid, 422 if they contradict each other.
pub(super) fn watch(request: &Request) -> Result<(WatchRequest, u64), ApiError> {
    let query = &request.query;
    // A watch ignores it, but an invalid value is an error.
    query.number::<i64>("limit")?;
    let selection = selection(request)?;
    // A watch by a deprecated path is checked as a list.
    match query.flag("watch") {
        true => check_watch(query)?,
        false => check_list(query)?,
    }
    let text = query.get("resourceVersion");
    let version = match text {
        "" => 0,
        text => text.parse::<u64>().map_err(|_| {
            let message = format!(
                "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
            );
            ApiError::new(500, "", message)
        })?,
    };
    let initial = initial_events(query);
    let (start, at_least) = match initial {
        // The initial state is never older than the requested version.
        Some(true) => (Start::State, version),
        Some(false) if version == 0 => (Start::Now, 0),
        _ => (Start::After(version), 0),
    };
    let asked = WatchRequest {
        selection,
        start,
        initial_end: initial == Some(true) && query.flag("allowWatchBookmarks"),
    };
    Ok((asked, at_least))
}

/// The options of a write.
///
/// # Errors
/// 400 if parameters are invalid.
pub(super) fn write(request: &Request) -> Result<WriteOptions, ApiError> {
    let query = &request.query;
    let validation = match query.get("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Strict" => FieldValidation::Strict,
        "Ignore" => FieldValidation::Ignore,
        other => {
            let cause =
                Cause::not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]);
            return Err(invalid(request, "CreateOptions", cause));
        }
    };
    let manager = manager(query, &request.record.user_agent);
    if manager.len() > 128 {
        let message = "Too long: may not be more than 128 bytes";
        let cause = Cause::field("FieldValueTooLong", "fieldManager", message);
        return Err(invalid(request, "CreateOptions", cause));
    }
    Ok(WriteOptions {
        manager: manager.into(),
        user: request.user.clone(),
        force: query.flag("force"),
        dry_run: dry_run(request, query.all("dryRun"))?,
        validation,
        duplicates: Vec::new(),
        given: given(query),
        audit: request.audit.clone(),
        guard: Some(request.name.as_str().into()),
        deadline: request.deadline,
        admitted: true,
    })
}

/// The options of a write that its query contains, as an object.
fn given(query: &Query) -> Map<String, Value> {
    let mut given = Map::new();
    for name in ["fieldManager", "fieldValidation"] {
        let value = query.get(name);
        if !value.is_empty() {
            given.insert(name.into(), value.into());
        }
    }
    let dry_run: Vec<&str> = query.all("dryRun").filter(|one| !one.is_empty()).collect();
    if !dry_run.is_empty() {
        given.insert("dryRun".into(), dry_run.into());
    }
    given
}

/// The field manager of a write: the request's `fieldManager`, or the program in its user agent.
pub(super) fn manager<'a>(query: &'a Query, user_agent: &'a str) -> &'a str {
    let agent = user_agent.split('/').next().unwrap_or_default();
    match query.get("fieldManager") {
        "" if agent.is_empty() => "unknown",
        "" => agent,
        given => given,
    }
}

fn invalid(request: &Request, default: &str, cause: Cause) -> ApiError {
    let kind = match request.verb {
        "patch" => "PatchOptions",
        "update" => "UpdateOptions",
        _ => default,
    };
    ApiError::invalid_kind("meta.k8s.io", kind, "", vec![cause])
}

fn dry_run<'a>(request: &Request, values: impl Iterator<Item = &'a str>) -> Result<bool, ApiError> {
    let mut dry = false;
    for value in values {
        if value != "All" {
            let shown = serde_json::json!([value]);
            let message = format!("Unsupported value: {shown}: supported values: \"All\"");
            let cause = Cause::field("FieldValueNotSupported", "dryRun", message);
            let options = match request.record.method.as_str() {
                "DELETE" => "DeleteOptions",
                "PUT" => "UpdateOptions",
                "PATCH" => "PatchOptions",
                _ => "CreateOptions",
            };
            return Err(invalid(request, options, cause));
        }
        dry = true;
    }
    Ok(dry)
}

/// The options of a deletion: from the body if there is one, otherwise from the query.
///
/// # Errors
/// 400 and 422 if options are invalid.
pub(super) fn delete(request: &Request) -> Result<DeleteOptions, ApiError> {
    let query = &request.query;
    if request.body.is_empty() {
        let policy = query.get("propagationPolicy");
        check_propagation(policy, query.find("orphanDependents").is_some())?;
        return Ok(DeleteOptions {
            grace_period: query.number("gracePeriodSeconds")?,
            propagation: propagation(policy)?,
            orphan_dependents: query
                .find("orphanDependents")
                .map(|_| query.flag("orphanDependents")),
            uid: None,
            resource_version: None,
            dry_run: dry_run(request, query.all("dryRun"))?,
            user: request.user.clone(),
            audit: request.audit.clone(),
            deadline: request.deadline,
            admitted: true,
        });
    }
    let options = body::decode(
        &body::media_type(&request.record.content_type),
        &request.body,
    )?;
    deletion(request, &api::recognize_options(options)?)
}

/// The kind of the options of a deletion.
pub(super) const DELETE: &str = "DeleteOptions";

/// The options of a deletion from a `DeleteOptions` object.
///
/// # Errors
/// 422 if options are invalid.
pub(super) fn deletion(request: &Request, options: &Value) -> Result<DeleteOptions, ApiError> {
    let query = &request.query;
    let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str);
    let dry_runs = options.get("dryRun").and_then(Value::as_array);
    let dry_runs = dry_runs.into_iter().flatten().filter_map(Value::as_str);
    let policy = text("/propagationPolicy").unwrap_or_default();
    let orphans = options.get("orphanDependents");
    check_propagation(policy, orphans.is_some_and(Value::is_boolean))?;
    Ok(DeleteOptions {
        grace_period: options.get("gracePeriodSeconds").and_then(Value::as_i64),
        propagation: propagation(policy)?,
        orphan_dependents: options.get("orphanDependents").and_then(Value::as_bool),
        uid: text("/preconditions/uid").map(String::from),
        resource_version: text("/preconditions/resourceVersion").map(String::from),
        dry_run: dry_run(request, dry_runs.chain(query.all("dryRun")))?,
        user: request.user.clone(),
        audit: request.audit.clone(),
        deadline: request.deadline,
        admitted: true,
    })
}

fn check_propagation(policy: &str, has_orphans: bool) -> Result<(), ApiError> {
    if policy.is_empty() || !has_orphans {
        return Ok(());
    }
    let detail = "orphanDependents and deletionPropagation cannot be both set";
    let cause = Cause::invalid("propagationPolicy", &policy.into(), detail);
    Err(ApiError::invalid_kind(
        "meta.k8s.io",
        DELETE,
        "",
        vec![cause],
    ))
}

fn propagation(text: &str) -> Result<Option<Propagation>, ApiError> {
    match text {
        "" => Ok(None),
        "Orphan" => Ok(Some(Propagation::Orphan)),
        "Background" => Ok(Some(Propagation::Background)),
        "Foreground" => Ok(Some(Propagation::Foreground)),
        other => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            let cause = Cause::not_supported("propagationPolicy", other, &known);
            Err(ApiError::invalid_kind(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                vec![cause],
            ))
        }
    }
}
