use serde_json::{Map, Value};

use super::Target;
use super::admission::{Triple, definition};
use crate::builtin;
use crate::error::ApiError;
use crate::go;
use crate::json;
use crate::registry::{Registry, ServedKind};

/// The body of a request, read as the object that its path names.
#[derive(Debug)]
pub(crate) struct Recognized {
    pub(crate) object: Value,
    /// The paths of names that occur more than once in their object.
    pub(crate) duplicates: Vec<String>,
}

/// Reads JSON as an object of the target's kind.
///
/// # Errors
/// 400 if the text is not JSON, has another kind, or does not fit the types of the kind.
pub(crate) fn recognize(
    registry: &Registry,
    target: &Target,
    body: &[u8],
) -> Result<Recognized, ApiError> {
    let kind = &target.kind;
    let unrecognized = |why: &str| {
        Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({})",
            kind.kind,
            summary(body)
        )))
    };
    let parse_error = |why: &str| {
        unrecognized(&format!(
            "couldn't get version/kind; json parse error: {why}"
        ))
    };
    let document = match json::read(body) {
        Ok(document) => document,
        Err(why) => return parse_error(&why),
    };
    let mut object = or_empty(document.value);
    if let Err(why) = type_meta_decodes(&object) {
        return parse_error(&why);
    }
    let given = GivenKind::of(&object);
    let Some(mut given) = given else {
        let found = object.get("apiVersion").and_then(Value::as_str);
        let found = found.unwrap_or_default();
        return unrecognized(&format!("unexpected GroupVersion string: {found}"));
    };
    if kind.is_custom() {
        if given.kind.is_empty() {
            let text = String::from_utf8_lossy(body);
            return unrecognized(&format!("Object 'Kind' is missing in '{text}'"));
        }
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        if let Some(wrong) = go::metadata_mistyped(metadata) {
            return Err(given.not_handled(kind, &wrong.to_string()));
        }
    } else {
        given.complete(kind);
        given.decodes(registry, kind, &object)?;
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), given.api_version().into());
            fields.insert("kind".into(), given.kind.clone().into());
        }
    }
    if given.api_version() != kind.api_version() {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            given.api_version(),
            kind.api_version()
        )));
    }
    Ok(Recognized {
        object,
        duplicates: document.duplicates,
    })
}

/// Takes decoded JSON as an object of this built-in kind, which need not be a resource. `body` is its text.
///
/// # Errors
/// 400 if it is no object, or does not fit the types of the kind.
pub(crate) fn recognize_as(
    kind: Triple<'_>,
    object: Value,
    body: &[u8],
) -> Result<Value, ApiError> {
    let object = or_empty(object);
    let [_, version, name] = kind;
    if let Err(why) = type_meta_decodes(&object) {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {name}): couldn't get version/kind; json parse error: {why} ({})",
            summary(body)
        )));
    }
    match go::mistyped(&definition(kind), &object) {
        Some(wrong) => Err(ApiError::bad_request(format!(
            "{name} in version {version:?} cannot be handled as a {name}: {wrong}"
        ))),
        None => Ok(object),
    }
}

/// Takes decoded JSON as `DeleteOptions`, which a real server decodes in another way than objects.
///
/// # Errors
/// 400 if it is no object, or has another kind, or does not fit the types of options.
pub(crate) fn recognize_options(options: Value) -> Result<Value, ApiError> {
    const KIND: &str = "DeleteOptions";
    const DEFINITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let options = or_empty(options);
    type_meta_decodes(&options).map_err(|why| {
        ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: {why}"
        ))
    })?;
    let text = |name: &str| {
        let text = options.get(name).and_then(Value::as_str);
        text.unwrap_or_default()
    };
    if !matches!(text("kind"), "" | KIND) {
        let (kind, api_version) = (text("kind"), text("apiVersion"));
        return Err(ApiError::bad_request(another_kind(api_version, kind)));
    }
    match go::mistyped(DEFINITION, &options) {
        Some(wrong) => Err(ApiError::bad_request(wrong.to_string())),
        None => Ok(options),
    }
}

/// The error for an object in the place of options.
pub(crate) fn another_kind(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
}

/// `null` is an object without fields.
fn or_empty(value: Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        value => value,
    }
}

/// The beginning of a body, as errors show it.
pub(crate) fn summary(body: &[u8]) -> String {
    const LENGTH: usize = 30;
    let shown = body.get(..LENGTH).unwrap_or(body);
    let more = if body.len() > LENGTH { " ..." } else { "" };
    match body.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

fn type_meta_decodes(object: &Value) -> Result<(), String> {
    let Some(fields) = object.as_object() else {
        const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type {TYPE_META}",
            go::json_kind(object)
        ));
    };
    for name in ["apiVersion", "kind"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                return Err(format!(
                    "json: cannot unmarshal {} into Go struct field .{name} of type string",
                    go::json_kind(other)
                ));
            }
        }
    }
    Ok(())
}

/// The `apiVersion` and `kind` of an object.
struct GivenKind {
    group: String,
    version: String,
    kind: String,
}

impl GivenKind {
    /// Returns `None` if `apiVersion` has more than two parts.
    fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        (!version.contains('/')).then(|| Self {
            group: group.into(),
            version: version.into(),
            kind: text("kind").into(),
        })
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Fills missing parts in from the expected kind.
    fn complete(&mut self, expected: &ServedKind) {
        if self.kind.is_empty() {
            self.kind.clone_from(&expected.kind);
        }
        if self.version.is_empty() && (self.group.is_empty() || self.group == expected.group) {
            self.group.clone_from(&expected.group);
            self.version.clone_from(&expected.version);
        }
    }

    fn not_handled(&self, expected: &ServedKind, why: &str) -> ApiError {
        let Self { version, kind, .. } = self;
        let expected = &expected.kind;
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {expected}: {why}"
        ))
    }

    /// Whether a server can decode an object of this kind and convert it to the expected kind.
    fn decodes(
        &self,
        registry: &Registry,
        expected: &ServedKind,
        object: &Value,
    ) -> Result<(), ApiError> {
        let Self {
            group,
            version,
            kind,
        } = self;
        let found = registry
            .find_kind(group, version, kind)
            .filter(|found| !found.is_custom());
        if let Some(wrong) = found.and_then(|found| builtin::mistyped(found, object)) {
            return Err(self.not_handled(expected, &wrong.to_string()));
        }
        // An Event is the same object in both of its groups.
        if *kind == expected.kind
            && found.is_some_and(|_| *group == expected.group || kind == "Event")
        {
            return Ok(());
        }
        if found.is_none() && !self.is_of_every_group(registry) {
            return Err(self.not_handled(
                expected,
                &format!(
                    "no kind {kind:?} is registered for version {:?} in scheme \"pkg/runtime/scheme.go:111\"",
                    self.api_version()
                ),
            ));
        }
        let package = match expected.group.split('.').next() {
            None | Some("" | "events") => "core",
            Some(group) => group,
        };
        let why = format!(
            "converting ({version}.{kind}) to ({package}.{}): unknown conversion",
            expected.kind
        );
        Err(self.not_handled(expected, &why))
    }

    /// Whether it is a kind that every group has: lists, and the kinds of the API machinery.
    fn is_of_every_group(&self, registry: &Registry) -> bool {
        const EVERYWHERE: [&str; 7] = [
            "CreateOptions",
            "DeleteOptions",
            "GetOptions",
            "ListOptions",
            "PatchOptions",
            "UpdateOptions",
            "WatchEvent",
        ];
        const CORE: [&str; 5] = [
            "APIGroup",
            "APIGroupList",
            "APIResourceList",
            "APIVersions",
            "Status",
        ];
        let Self {
            group,
            version,
            kind,
        } = self;
        let kind = kind.as_str();
        let mut same_version = registry
            .kinds()
            .iter()
            .filter(|known| {
                !known.is_custom() && known.group == *group && known.version == *version
            })
            .peekable();
        let known = same_version.peek().is_some();
        known && EVERYWHERE.contains(&kind)
            || group.is_empty() && version == "v1" && CORE.contains(&kind)
            || same_version.any(|known| known.list_kind == kind)
    }
}
