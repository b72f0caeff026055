use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::{Target, convert, strategy};
use crate::core::Core;
use crate::error::ApiError;
use crate::json;
use crate::store::selector::Selection;
use crate::store::{Encoded, Key};

/// How long a read waits for a resource version that does not exist yet.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_secs(3);

/// The meaning of a list's `resourceVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// The parameters of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListRequest {
    pub(crate) selection: Selection,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) version: String,
    pub(crate) version_match: Option<VersionMatch>,
    /// The resource version of the cache that answers if the request accepts an old state; `None` if the cache has the newest state.
    pub(crate) cached: Option<u64>,
}

/// One page of a list.
pub(crate) struct Listed {
    pub(crate) version: u64,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
    /// The objects as stored.
    pub(crate) entries: Vec<(Key, Arc<Encoded>)>,
}

/// The position of the next page.
struct Continue {
    /// The snapshot to read; `None` reads the newest state.
    version: Option<u64>,
    start: Key,
}

/// Reads one object, as stored. `version` is the request's `resourceVersion`, and `cached` that of the cache, as in
/// [`ListRequest::cached`].
///
/// # Errors
/// 404; 504 if the resource version is not reached in time.
pub(crate) async fn get(
    core: &Core,
    target: &Target,
    name: &str,
    version: &str,
    cached: Option<u64>,
) -> Result<Arc<Encoded>, ApiError> {
    at_least(core, parse_version(version)?).await?;
    let key = target.key(name);
    let storage = target.storage();
    let past = cached.filter(|_| !version.is_empty()).and_then(|cached| {
        let namespace = target.namespace.as_deref();
        core.store
            .list_encoded(&storage, namespace, Some(&key), Some(cached))
    });
    let object = match past {
        Some(Ok(past)) => past
            .entries
            .into_iter()
            .next()
            .filter(|(first, _)| *first == key)
            .map(|(_, object)| object),
        // The state of a cache that was held back may be compacted.
        Some(Err(_)) | None => core.store.get_encoded(&storage, &key),
    };
    let object = object.ok_or_else(|| target.not_found(name))?;
    let written = object.version;
    let read = convert::encoded(core, target, object).await;
    read.map_err(|error| match error.reason {
        // A webhook cannot convert it.
        "" => undecodable(target, name, written, &error.message),
        _ => error,
    })
}

/// The error of a stored object that cannot be read. `version` is the one of its last write.
fn undecodable(target: &Target, name: &str, version: u64, why: &str) -> ApiError {
    let key = strategy::storage_key(target, name);
    let key = key.strip_prefix("/registry").unwrap_or(&key);
    ApiError::internal(format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable \
         revision={version}: {why}"
    ))
}

/// Lists objects.
///
/// # Errors
/// 410 if the state of the resource version or of the continue token is compacted; 504 if the resource version is not
/// reached in time; 400 if parameters contradict each other.
pub(crate) async fn list(
    core: &Core,
    target: &Target,
    request: &ListRequest,
) -> Result<Listed, ApiError> {
    let continues = !request.continue_token.is_empty();
    if continues && !matches!(request.version.as_str(), "" | "0") {
        return Err(ApiError::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let wanted = parse_version(&request.version)?;
    let from = match request.continue_token.as_str() {
        "" => None,
        token => Some(Continue::decode(token)?),
    };
    at_least(core, wanted).await?;
    let accepts_old = !request.version.is_empty();
    let exact = match &from {
        Some(from) => from.version,
        None if request.version_match == Some(VersionMatch::Exact) => Some(wanted),
        // A list with a limit and a resource version but no match is an exact one.
        None if request.limit > 0 && wanted > 0 && request.version_match.is_none() => Some(wanted),
        None => request.cached.filter(|_| accepts_old),
    };
    let start = from.as_ref().map(|from| &from.start);
    let namespace = target.namespace.as_deref();
    let listed = core
        .store
        .list_encoded(&target.storage(), namespace, start, exact);
    let snapshot = match listed {
        None => return Err(ApiError::not_found(&target.resource(), "")),
        Some(Ok(snapshot)) => snapshot,
        Some(Err(_)) => {
            return Err(match from {
                Some(from) => ApiError::continue_expired(
                    Continue {
                        version: None,
                        ..from
                    }
                    .encode(),
                ),
                None => ApiError::expired("The resourceVersion for the provided list is too old."),
            });
        }
    };
    let mut entries = snapshot.entries;
    entries.retain(|(_, object)| request.selection.selects(object));
    // A list from any state (`resourceVersion=0`) is returned whole.
    let limit = if request.version == "0" {
        0
    } else {
        request.limit
    };
    let mut listed = Listed {
        version: snapshot.version,
        continue_token: String::new(),
        remaining: None,
        entries,
    };
    if limit > 0 && listed.entries.len() > limit {
        let rest = listed.entries.split_off(limit);
        if let Some((start, _)) = rest.first() {
            let start = start.clone();
            let version = Some(snapshot.version);
            listed.continue_token = Continue { version, start }.encode();
        }
        listed.remaining = request.selection.is_everything().then_some(rest.len());
    }
    listed.entries = convert::entries(core, target, listed.entries).await?;
    Ok(listed)
}

/// Waits for a resource version.
///
/// # Errors
/// 504 after 3 seconds without it.
pub(crate) async fn at_least(core: &Core, version: u64) -> Result<(), ApiError> {
    if core.store.version() >= version {
        return Ok(());
    }
    tokio::time::timeout(VERSION_TIMEOUT, core.store.reached(version))
        .await
        .map_err(|_| ApiError::too_large_resource_version(version, core.store.version()))
}

/// # Errors
/// 400 if the resource version is not a number.
pub(super) fn parse_version(version: &str) -> Result<u64, ApiError> {
    if version.is_empty() {
        return Ok(0);
    }
    version.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax"
        ))
    })
}

impl Continue {
    fn encode(&self) -> String {
        let version = self.version.map_or(Value::from(-1), Value::from);
        let token =
            serde_json::json!({"v": "meta.k8s.io/v1", "rv": version, "start": self.start.as_str()});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(token: &str) -> Result<Self, ApiError> {
        let invalid = |why: String| {
            ApiError::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| {
            let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let place = token.bytes().position(|byte| !letter(byte));
            let place = place.unwrap_or(token.len());
            invalid(format!("illegal base64 data at input byte {place}"))
        })?;
        let token: Value = json::read(&bytes).map_err(invalid)?.value;
        let version = token
            .get("rv")
            .and_then(Value::as_i64)
            .filter(|version| *version != 0);
        let version = version.ok_or_else(|| {
            invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into())
        })?;
        let start = token
            .get("start")
            .and_then(Value::as_str)
            .filter(|start| !start.is_empty());
        let start = start
            .ok_or_else(|| invalid("encoded start key empty (version meta.k8s.io/v1)".into()))?;
        Ok(Self {
            version: u64::try_from(version).ok(),
            start: Key::parse(start),
        })
    }
}
