use serde_json::Value;

use super::{
    content::{add_unknown, content, set_content, take_over_metadata, without_own_annotations},
    kept,
    merge::restore,
};
use crate::resource::{
    ApiResource, ConversionError, ObjectKey, OtherVersion, Resource, TypedFailure, TypedTrip,
};

/// The versions of a kind, and the conversions between them.
///
/// ```
/// use pilothouse::{Resource, Schema, resource::{ObjectMeta, Versions}};
/// use serde::{Deserialize, Serialize};
/// use serde_json::json;
///
/// #[derive(Resource, Clone, Debug)]
/// #[resource(group = "demo.pilothouse.dev", version = "v1", namespaced, served(PageV1Beta1))]
/// struct Page {
///     metadata: ObjectMeta,
///     spec: PageSpec,
/// }
///
/// #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
/// struct PageSpec {
///     title: String,
///     language: Option<String>,
/// }
///
/// /// The older version has no language.
/// #[derive(Resource, Clone, Debug)]
/// #[resource(group = "demo.pilothouse.dev", version = "v1beta1", kind = "Page", namespaced)]
/// struct PageV1Beta1 {
///     metadata: ObjectMeta,
///     spec: OldPageSpec,
/// }
///
/// #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
/// struct OldPageSpec {
///     heading: String,
/// }
///
/// impl From<PageV1Beta1> for Page {
///     fn from(old: PageV1Beta1) -> Self {
///         let spec = PageSpec { title: old.spec.heading, language: None };
///         Self { metadata: old.metadata, spec }
///     }
/// }
///
/// impl From<Page> for PageV1Beta1 {
///     fn from(page: Page) -> Self {
///         Self { metadata: page.metadata, spec: OldPageSpec { heading: page.spec.title } }
///     }
/// }
///
/// let versions = Versions::of::<Page>();
/// let page = json!({
///     "apiVersion": "demo.pilothouse.dev/v1", "kind": "Page", "metadata": {"name": "home"},
///     "spec": {"title": "Home", "language": "en"},
/// });
/// let mut old = versions.convert(page, "demo.pilothouse.dev/v1beta1")?;
/// old["spec"]["heading"] = "Start".into();
/// let new = versions.convert(old, "demo.pilothouse.dev/v1")?;
/// assert_eq!(new["spec"], json!({"title": "Start", "language": "en"}));
/// # Ok::<(), pilothouse::resource::ConversionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Versions {
    stored: ApiResource,
    others: &'static [OtherVersion],
}

impl Versions {
    /// The versions of a kind. `K` is the type of the stored version. A type that names no other versions is the only one.
    pub const fn of<K: Resource>() -> Self {
        Self {
            stored: ApiResource::of::<K>(),
            others: K::OTHER_VERSIONS,
        }
    }

    /// The stored version.
    pub const fn stored(&self) -> &ApiResource {
        &self.stored
    }

    /// All versions: the stored one first, then in the order of `served(..)`.
    pub fn all(&self) -> impl Iterator<Item = &ApiResource> {
        let others = self.others.iter().map(|other| &other.resource);
        [&self.stored].into_iter().chain(others)
    }

    /// Whether the program converts between the versions. If not, there is one version, or they differ in `apiVersion` only.
    pub fn are_converted(&self) -> bool {
        self.others.iter().any(|other| other.conversion.is_some())
    }

    /// Converts an object to the version `to`, such as `demo.pilothouse.dev/v1`. [The module](super) says where a conversion keeps the fields
    /// that a version cannot express.
    ///
    /// The conversion changes labels and annotations, and no other metadata. It returns an object of the version `to` unchanged.
    ///
    /// # Errors
    /// The object does not fit the type of its version, a conversion of the program refuses it, a field that the annotation has to keep is
    /// too large, or somebody else changed the annotation with the kept fields. The error names the object and the field. It contains no
    /// values but those in the text of the program's own errors.
    pub fn convert(&self, object: Value, to: &str) -> Result<Value, ConversionError> {
        let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let failed = |reason: String| {
            let metadata = |field: &str| object["metadata"][field].as_str();
            let key = ObjectKey::new(metadata("namespace"), metadata("name").unwrap_or_default());
            ConversionError::of(&self.stored.kind, key, &from, to, reason)
        };
        let kind = object["kind"].as_str().unwrap_or_default();
        if kind != self.stored.kind {
            return Err(failed(format!("the object is of the kind {kind:?}")));
        }
        let find = |api_version: &str| {
            let found = self.all().position(|one| one.api_version() == api_version);
            found.ok_or_else(|| {
                failed(format!(
                    "the program has no version {api_version:?} of the kind"
                ))
            })
        };
        let (source, target) = (find(&from)?, find(to)?);
        if source == target {
            return Ok(object);
        }
        let in_stored = match source {
            0 => object.clone(),
            other => self.step(&object, other, true).map_err(failed)?,
        };
        match target {
            0 => Ok(in_stored),
            other => self.step(&in_stored, other, false).map_err(failed),
        }
    }

    /// The object as the type of its version writes it. `None` if the program does not convert it.
    #[cfg(feature = "dev")]
    pub(crate) fn as_typed(&self, object: &Value) -> Option<Value> {
        self.trip(object)?.ok().map(|trip| trip.from)
    }

    /// Whether the type of its version reads the object.
    #[cfg(feature = "dev")]
    pub(crate) fn fits_type(&self, object: &Value) -> bool {
        !matches!(self.trip(object), Some(Err(TypedFailure::Unfit { .. })))
    }

    /// Converts an object with the program's code, and keeps nothing in an annotation. Returns `None` if the program does not convert its version.
    #[cfg(feature = "dev")]
    fn trip(&self, object: &Value) -> Option<Result<TypedTrip, TypedFailure>> {
        let version = object["apiVersion"].as_str()?;
        let conversion = match version == self.stored.api_version() {
            true => {
                self.others
                    .iter()
                    .find_map(|other| other.conversion)?
                    .from_stored
            }
            false => {
                let mut others = self.others.iter();
                let other = others.find(|other| other.resource.api_version() == version)?;
                other.conversion?.to_stored
            }
        };
        Some(conversion(object))
    }

    /// Converts between the stored version and the one at position `other` of all.
    fn step(&self, object: &Value, other: usize, to_stored: bool) -> Result<Value, String> {
        let Some(other) = self.others.get(other - 1) else {
            return Err("the program has no such version".into());
        };
        let (from, to) = match to_stored {
            true => (&other.resource, &self.stored),
            false => (&self.stored, &other.resource),
        };
        let Some(conversion) = other.conversion else {
            let mut object = object.clone();
            object["apiVersion"] = to.api_version().into();
            return Ok(object);
        };
        let (there, back) = match to_stored {
            true => (conversion.to_stored, conversion.from_stored),
            false => (conversion.from_stored, conversion.to_stored),
        };
        let kept = kept::read(object, &to.version)?;
        let given = without_own_annotations(object);
        let TypedTrip {
            from: read,
            mut made,
        } = there(&given).map_err(|failure| failure.shown())?;
        take_over_metadata(&given, &mut made);
        let mut whole = content(&read);
        add_unknown(&mut whole, &content(&given));
        if !kept.is_empty() {
            let mut restored = content(&made);
            for field in &kept {
                restore(&mut restored, field);
            }
            set_content(&mut made, restored);
        }
        let mut returned = back(&made).map_err(|failure| match (&failure, kept.is_empty()) {
            (TypedFailure::Unfit { path, .. }, false) => format!(
                "{}, with what metadata.annotations[{}] keeps of {path}: write back what was there, or remove the annotation, which \
                 gives up the fields that it keeps",
                failure.shown(),
                kept::annotation(&to.version)
            ),
            _ => format!("the way back to {}: {}", from.version, failure.shown()),
        })?;
        take_over_metadata(&made, &mut returned.made);
        let lost = kept::difference(&content(&returned.made), &whole);
        // What was made may hold fields that its type does not write, such as those put back.
        keep_other_annotations(object, &mut made);
        kept::write(&mut made, &to.version, &[])?;
        kept::write(&mut made, &from.version, &lost)?;
        Ok(made)
    }
}

/// Copies the annotations that keep fields for other versions.
fn keep_other_annotations(object: &Value, made: &mut Value) {
    let annotations = object["metadata"]["annotations"].as_object();
    let own = annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| super::content::is_own(key));
    for (key, text) in own {
        made["metadata"]["annotations"][key] = text.clone();
    }
}
