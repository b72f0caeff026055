use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::watch::Event;
use super::{Target, validate};
use crate::calls::Destination;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::{Converter, ServedKind};
use crate::store::{Encoded, Entry, Key};

/// How long the server waits for a conversion.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A stored object in the version of the target, decoded.
///
/// # Errors
/// 500 if the webhook of its definition does not convert it.
pub(super) async fn read(
    core: &Core,
    target: &Target,
    stored: &Arc<Value>,
) -> Result<Value, ApiError> {
    let kind = &target.kind;
    let converted = to(core, kind, vec![stored.clone()], &kind.api_version()).await?;
    Ok(target.read(converted.first().unwrap_or(stored)))
}

/// What was written, as the answer shows it: in the version of the target, and also as it is stored if that is the same.
///
/// # Errors
/// As [`read`].
pub(super) async fn written(
    core: &Core,
    target: &Target,
    entry: Entry,
) -> Result<(Arc<Value>, Option<Arc<Encoded>>), ApiError> {
    if target.kind.converter.is_none() && target.reads_as_stored(&entry.encoded) {
        return Ok((entry.object, Some(entry.encoded)));
    }
    let object = read(core, target, &entry.object).await?;
    Ok((object.into(), None))
}

/// A stored object in the version of the target, if a webhook converts it. Otherwise it stays as it is.
///
/// # Errors
/// As [`read`].
pub(super) async fn encoded(
    core: &Core,
    target: &Target,
    stored: Arc<Encoded>,
) -> Result<Arc<Encoded>, ApiError> {
    let converted = all_encoded(core, &target.kind, vec![stored.clone()]).await?;
    Ok(converted.into_iter().next().unwrap_or(stored))
}

/// An object of the target's version in the version in which it is stored.
///
/// # Errors
/// As [`read`].
pub(super) async fn stored(core: &Core, target: &Target, object: Value) -> Result<Value, ApiError> {
    let kind = &target.kind;
    if !kind.is_custom() {
        return Ok(target.store(object));
    }
    let registry = core.registry();
    let storage = registry.storage(&kind.group, &kind.plural);
    let mut stored = match &kind.converter {
        Some(converter) => convert_one(core, kind, object, &converter.stored_in).await?,
        None => object,
    };
    if let Some(storage) = storage.filter(|_| !kind.storage) {
        let version = storage.api_version();
        if kind.converter.is_none()
            && let Some(fields) = stored.as_object_mut()
        {
            fields.insert("apiVersion".into(), version.clone().into());
        }
        if stored["apiVersion"] == version {
            storage.structural().prune(&mut stored);
        }
    }
    Ok(stored)
}

/// As [`encoded`], for many objects.
///
/// # Errors
/// As [`read`].
pub(super) async fn entries(
    core: &Core,
    target: &Target,
    entries: Vec<(Key, Arc<Encoded>)>,
) -> Result<Vec<(Key, Arc<Encoded>)>, ApiError> {
    if target.kind.converter.is_none() {
        return Ok(entries);
    }
    let (keys, objects): (Vec<Key>, Vec<_>) = entries.into_iter().unzip();
    let converted = all_encoded(core, &target.kind, objects).await?;
    Ok(keys.into_iter().zip(converted).collect())
}

/// Brings the objects of events into the version of the target. If that fails, the last event is the error.
pub(crate) async fn events(core: &Core, target: &Target, mut events: Vec<Event>) -> Vec<Event> {
    if target.kind.converter.is_none() {
        return events;
    }
    let objects = events.iter().filter_map(Event::object).cloned().collect();
    match all_encoded(core, &target.kind, objects).await {
        Ok(converted) => {
            let mut converted = converted.into_iter();
            for event in &mut events {
                event.set_object(|| converted.next());
            }
            events
        }
        Err(error) => vec![Event::Error(error)],
    }
}

/// An object of one kind as an object of another kind under which it is served.
///
/// # Errors
/// As [`read`].
pub(super) async fn between(
    core: &Core,
    from: &Target,
    to: &Target,
    object: Value,
) -> Result<Value, ApiError> {
    if to.kind.converter.is_some() {
        let object = convert_one(core, &to.kind, object, &to.kind.api_version()).await?;
        return Ok(to.read(&object));
    }
    Ok(to.read(&from.store(object)))
}

async fn convert_one(
    core: &Core,
    kind: &ServedKind,
    object: Value,
    version: &str,
) -> Result<Value, ApiError> {
    let mut converted = to(core, kind, vec![Arc::new(object)], version).await?;
    let only = converted.pop().unwrap_or_default();
    Ok(Arc::unwrap_or_clone(only))
}

/// Stored objects in the version of a kind. Those that already have it stay.
async fn all_encoded(
    core: &Core,
    kind: &ServedKind,
    mut objects: Vec<Arc<Encoded>>,
) -> Result<Vec<Arc<Encoded>>, ApiError> {
    if kind.converter.is_none() {
        return Ok(objects);
    }
    let version = kind.api_version();
    let mut others: Vec<&mut Arc<Encoded>> = objects
        .iter_mut()
        .filter(|object| !object.has_api_version(&version))
        .collect();
    let values = others.iter().map(|object| object.value()).collect();
    let converted = to(core, kind, values, &version).await?;
    for (object, converted) in others.iter_mut().zip(converted) {
        **object = Arc::new(Encoded::new(object.version, &converted));
    }
    Ok(objects)
}

/// Objects in a version of a kind. Those that already have it stay.
async fn to(
    core: &Core,
    kind: &ServedKind,
    mut objects: Vec<Arc<Value>>,
    version: &str,
) -> Result<Vec<Arc<Value>>, ApiError> {
    let Some(converter) = &kind.converter else {
        return Ok(objects);
    };
    let others: Vec<usize> = (0..objects.len())
        .filter(|index| objects[*index]["apiVersion"] != version)
        .collect();
    let Some(first) = others.first() else {
        return Ok(objects);
    };
    // Errors name the kind of a list, or that of the only object.
    let from = objects[*first]["apiVersion"].as_str().unwrap_or_default();
    let shown = format!("{from}, Kind={}", kind.kind);
    let failed =
        |why: String| ApiError::new(500, "", format!("conversion webhook for {shown} {why}"));
    let wanted: Vec<&Value> = others.iter().map(|index| &*objects[*index]).collect();
    let answer = ask(core, converter, &wanted, version).await;
    let converted = answer.map_err(|why| failed(format!("failed: {why}")))?;
    if converted.len() != others.len() {
        return Err(failed(format!(
            "returned {} objects, expected {}",
            converted.len(),
            others.len()
        )));
    }
    for (index, converted) in others.into_iter().zip(converted) {
        let checked = check(&objects[index], converted, version, &kind.kind);
        objects[index] = Arc::new(checked.map_err(failed)?);
    }
    Ok(objects)
}

/// The version of ConversionReview that a webhook gets: the first that it names and the server knows.
fn review_version(webhook: &Value) -> Result<&str, String> {
    let known = webhook["conversionReviewVersions"].as_array();
    let mut known = known.into_iter().flatten().filter_map(Value::as_str);
    let found = known.find(|version| matches!(*version, "v1" | "v1beta1"));
    found.ok_or_else(|| "no supported conversion review versions".into())
}

/// Sends a ConversionReview and returns the converted objects.
async fn ask(
    core: &Core,
    converter: &Converter,
    objects: &[&Value],
    version: &str,
) -> Result<Vec<Value>, String> {
    let webhook = &converter.webhook;
    let review_version = review_version(webhook)?;
    let uid = core.clock.uid();
    let api_version = format!("apiextensions.k8s.io/{review_version}");
    let review = json!({
        "kind": "ConversionReview", "apiVersion": api_version,
        "request": {"uid": uid, "desiredAPIVersion": version, "objects": objects},
    });
    let to = Destination::read(&webhook["clientConfig"])?;
    let body = core.calls.post(&core.store, &to, &review, TIMEOUT).await?;
    core.stack.prepare(&body).await;
    read_answer(&body, review_version, &uid)
}

/// The converted objects in the answer to the review with this UID.
pub(super) fn read_answer(body: &[u8], version: &str, uid: &str) -> Result<Vec<Value>, String> {
    let api_version = format!("apiextensions.k8s.io/{version}");
    let mut review: Value = serde_json::from_slice(body)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let is_v1 = version == "v1";
    let text = |field: &str| review[field].as_str().unwrap_or_default();
    if is_v1 && (text("apiVersion") != api_version || text("kind") != "ConversionReview") {
        let shown = match text("apiVersion").contains('/') {
            true => text("apiVersion").to_owned(),
            false => format!("/{}", text("apiVersion")),
        };
        return Err(format!(
            "expected webhook response of {api_version}, Kind=ConversionReview, got {shown}, Kind={}",
            text("kind")
        ));
    }
    let response = review.get_mut("response");
    let Some(response) = response.filter(|response| response.is_object()) else {
        return Err("no response provided".into());
    };
    if is_v1 && response["uid"] != uid {
        let got = response["uid"].as_str().unwrap_or_default();
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    let text = |field: &str| response["result"][field].as_str().unwrap_or_default();
    if text("status") != "Success" {
        return Err(match text("message") {
            "" => format!(
                "response.result.status was '{}', not 'Success'",
                text("status")
            ),
            message => message.to_owned(),
        });
    }
    match response["convertedObjects"].take() {
        Value::Array(converted) => Ok(converted),
        _ => Ok(Vec::new()),
    }
}

/// A converted object with the metadata of the original, except for labels and annotations.
///
/// # Errors
/// The rest of the text of a real server: the webhook has changed what it may not change.
fn check(
    original: &Value,
    mut converted: Value,
    version: &str,
    kind: &str,
) -> Result<Value, String> {
    let invalid = |why: String| format!("returned invalid object at index 0: {why}");
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let got = text(&converted, "apiVersion");
    if got != version {
        return Err(invalid(format!(
            "invalid groupVersion (expected {version}, received {got})"
        )));
    }
    let got = text(&converted, "kind");
    if got != kind {
        return Err(invalid(format!(
            "invalid kind (expected {kind}, received {got})"
        )));
    }
    let mut same = Ok(());
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (was, is) = (meta::text(original, field), meta::text(&converted, field));
        if was != is && same.is_ok() {
            same = Err(format!(
                "returned invalid object: must have the same {shown}: {was} != {is}"
            ));
        }
    }
    same?;
    let wrong = |why: String| format!("returned invalid metadata: {why}");
    let Some(given) = converted["metadata"].as_object_mut().map(std::mem::take) else {
        return Err(wrong("missing metadata in converted object".into()));
    };
    let mut metadata = original["metadata"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for field in ["labels", "annotations"] {
        metadata.remove(field);
        match given.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => {
                texts_only(field, entries).map_err(wrong)?;
                metadata.insert(field.into(), Value::Object(entries.clone()));
            }
            Some(_) => {
                return Err(wrong(format!(
                    "invalid metadata.{field} in converted object"
                )));
            }
        }
    }
    converted["metadata"] = Value::Object(metadata);
    let causes = validate::labels_and_annotations(&converted);
    match causes.first() {
        None => Ok(converted),
        Some(cause) => Err(wrong(format!("{}: {}", cause.field, cause.message))),
    }
}

fn texts_only(field: &str, entries: &Map<String, Value>) -> Result<(), String> {
    match entries.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(()),
        Some((key, _)) => Err(format!(
            "metadata.{field}[{key}] must be a string in converted object"
        )),
    }
}
