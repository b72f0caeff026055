use std::{
    any::{Any, TypeId},
    cell::OnceCell,
    collections::BTreeMap,
    error::Error as StdError,
    fmt,
    sync::Arc,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ConversionError, Manifest, ManifestError,
    conversions::{Conversions, Version, kind_of, same},
    document::Document,
    manifest::AnyObject,
};
use crate::resource::{
    ApiResource, DynamicObject, Object, ObjectKey, PathStep, Resource, TypeMeta, decode_reason,
    format_path, yaml::Node,
};

/// Maps kinds to Rust types, and reads manifests of these kinds. See [the module](super).
#[derive(Clone, Default)]
pub struct Scheme {
    /// By `apiVersion` and kind.
    kinds: Arc<BTreeMap<(String, String), KnownKind>>,
    conversions: Arc<Conversions>,
    /// Reads objects of all other kinds; `None` if they are errors.
    other_kinds: Option<Read>,
    strict: bool,
}

/// A kind, and how its objects are read.
#[derive(Clone)]
struct KnownKind {
    version: Version,
    read: Read,
}

/// Reads an object, and adds the paths of the fields that its type does not have to the list.
type Read = fn(&Value, &mut Vec<Vec<PathStep>>) -> Result<Box<dyn AnyObject>, DecodeFailure>;

/// Where and why a value does not fit its type.
struct DecodeFailure {
    path: Vec<PathStep>,
    reason: String,
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds.keys();
        f.debug_set()
            .entries(kinds.map(|(version, kind)| format!("{kind} in {version}")))
            .finish()
    }
}

impl Scheme {
    /// A scheme without kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the kind `K`: its objects are read into this type.
    #[must_use]
    pub fn with<K: Resource>(self) -> Self {
        self.with_kind::<K>(ApiResource::of::<K>())
    }

    /// Adds the kind `resource`: its objects are read into `K`, which may be the type of several kinds, as
    /// [`DynamicObject`] is.
    #[must_use]
    pub fn with_kind<K: Object + Serialize + DeserializeOwned>(
        mut self,
        resource: ApiResource,
    ) -> Self {
        let name = (resource.api_version(), resource.kind.to_string());
        let kind = KnownKind {
            version: Version {
                type_id: TypeId::of::<K>(),
                resource,
            },
            read: read::<K>,
        };
        Arc::make_mut(&mut self.kinds).insert(name, kind);
        self
    }

    /// Adds two versions of one kind, and the function that converts objects from one to the other. A second call for
    /// the same pair replaces the function. The way back needs a call of its own.
    ///
    /// Two types that are not of one kind do not compile:
    ///
    /// ```compile_fail
    /// use pilothouse::k8s::api::core::v1::{ConfigMap, Secret};
    /// use pilothouse::resource::Scheme;
    ///
    /// Scheme::new().with_conversion(|map: ConfigMap| Ok::<_, String>(Secret::default()));
    /// ```
    #[must_use]
    pub fn with_conversion<A: Resource, B: Resource, E>(
        mut self,
        function: impl Fn(A) -> Result<B, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        const {
            assert!(
                is_one_kind::<A, B>(),
                "the two types must be versions of one kind"
            )
        }
        Arc::make_mut(&mut self.conversions).add(function);
        self.with::<A>().with::<B>()
    }

    /// Adds the kind `K` and makes it the hub of its kind: versions without a conversion between them are converted by
    /// way of this one. So n versions need a conversion to the hub and one from the hub each.
    #[must_use]
    pub fn with_hub<K: Resource>(mut self) -> Self {
        Arc::make_mut(&mut self.conversions).set_hub(version::<K>());
        self.with::<K>()
    }

    /// The kinds whose objects are read into `K`, in order of their `apiVersion`: apimachinery's `ObjectKinds`. Empty if
    /// the scheme does not have the type.
    ///
    /// ```
    /// use pilothouse::k8s::api::core::v1::{ConfigMap, Secret};
    /// use pilothouse::resource::Scheme;
    ///
    /// let scheme = Scheme::new().with::<ConfigMap>();
    /// assert_eq!(scheme.kinds_of::<ConfigMap>()[0].to_string(), "configmaps/v1");
    /// assert!(scheme.kinds_of::<Secret>().is_empty());
    /// ```
    pub fn kinds_of<K: Object>(&self) -> Vec<&ApiResource> {
        let known = self.kinds.values().map(|kind| &kind.version);
        let of_type = known.filter(|version| version.type_id == TypeId::of::<K>());
        of_type.map(|version| &version.resource).collect()
    }

    /// Converts an object to another version of its kind: by the [function](Self::with_conversion) for the two types, or
    /// by way of the [hub](Self::with_hub).
    ///
    /// ```
    /// # use pilothouse::{Resource, Schema, resource::{ObjectMeta, Scheme}};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Resource, Clone, Debug)]
    /// #[resource(group = "demo.dev", version = "v1beta1", kind = "Widget", namespaced)]
    /// struct OldWidget {
    ///     metadata: ObjectMeta,
    ///     spec: OldSpec,
    /// }
    /// # #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    /// # struct OldSpec { length: u32 }
    ///
    /// #[derive(Resource, Clone, Debug)]
    /// #[resource(group = "demo.dev", version = "v1", namespaced)]
    /// struct Widget {
    ///     metadata: ObjectMeta,
    ///     spec: Spec,
    /// }
    /// # #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    /// # struct Spec { millimetres: u32 }
    ///
    /// let scheme = Scheme::new().with_conversion(|old: OldWidget| {
    ///     let millimetres = old.spec.length.checked_mul(10).ok_or("the length is too large")?;
    ///     Ok::<_, &str>(Widget { metadata: old.metadata, spec: Spec { millimetres } })
    /// });
    /// let old = OldWidget { metadata: ObjectMeta::default(), spec: OldSpec { length: 3 } };
    /// let new: Widget = scheme.convert(old)?;
    /// assert_eq!(new.spec.millimetres, 30);
    /// # Ok::<(), pilothouse::resource::ConversionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`ConversionError`] if there is no such function, or if it returned an error.
    pub fn convert<A: Resource, B: Resource>(&self, object: A) -> Result<B, ConversionError> {
        const {
            assert!(
                is_one_kind::<A, B>(),
                "an object cannot become another kind"
            )
        }
        let key = object.key();
        self.convert_any(Box::new(object), key, &version::<A>())
    }

    pub(super) fn convert_any<B: Resource>(
        &self,
        object: Box<dyn Any>,
        key: ObjectKey,
        from: &Version,
    ) -> Result<B, ConversionError> {
        let to = version::<B>();
        let of = |version: &Version| kind_of(&version.resource);
        if of(from) != of(&to) {
            let reason = format!("it is of another kind than {} in {}", B::KIND, B::GROUP);
            return Err(ConversionError::new(key, from, &to, reason));
        }
        let converted = self.conversions.convert(object, &key, from, &to)?;
        converted.downcast().map(|object| *object).map_err(|_| {
            let reason = "the conversion returned another type".to_owned();
            ConversionError::new(key, from, &to, reason)
        })
    }

    /// Reads objects of all other kinds into [`DynamicObject`]s. Without this call they are errors.
    // Few programs call it, so only these build it.
    #[inline]
    #[must_use]
    pub fn with_other_kinds(mut self) -> Self {
        self.other_kinds = Some(read::<DynamicObject>);
        self
    }

    /// Makes unknown fields and duplicate keys errors, as `kubectl apply --validate=strict` does.
    ///
    /// Without this call unknown fields are ignored, and the last value of a duplicate key counts.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Reads the objects in `text`, which is YAML, JSON or both, in their order.
    ///
    /// # Errors
    ///
    /// An object that cannot be read gives a [`ManifestError`] at its position in the result. In a [`strict`](Self::strict)
    /// scheme, an object with several unknown fields gives one for each of them.
    pub fn decode(&self, text: &str) -> Vec<Result<Manifest, ManifestError>> {
        let mut found = Vec::new();
        let mut number = 0;
        for document in Document::split(text) {
            number += 1;
            match document.parse(self.strict) {
                Ok(Value::Null) => number -= 1,
                Ok(value) => {
                    let place = ObjectPlace {
                        document,
                        number,
                        node: &OnceCell::new(),
                    };
                    self.objects(place, &value, &mut Vec::new(), &mut found);
                }
                Err(malformed) => {
                    let line = malformed
                        .line
                        .unwrap_or_else(|| document.node().line_of(&malformed.path));
                    found.push(Err(ManifestError {
                        document: number,
                        line: document.line + line - 1,
                        path: format_path(&malformed.path),
                        reason: malformed.reason,
                    }));
                }
            }
        }
        found
    }

    /// Reads the object at `path` or, if it is a list, its items.
    fn objects(
        &self,
        place: ObjectPlace<'_>,
        value: &Value,
        path: &mut Vec<PathStep>,
        found: &mut Vec<Result<Manifest, ManifestError>>,
    ) {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let known = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        let items = value.get("items").and_then(Value::as_array);
        if let (None, Some(of), Some(items)) = (known, kind.strip_suffix("List"), items) {
            for (index, item) in items.iter().enumerate() {
                path.extend([PathStep::Key("items".into()), PathStep::Index(index)]);
                // An API server leaves `kind` and `apiVersion` out of the items of a list.
                match item.get("kind") {
                    None if !of.is_empty() && item.is_object() => {
                        let mut item = item.clone();
                        item["kind"] = of.into();
                        item["apiVersion"] = api_version.into();
                        self.objects(place, &item, path, found);
                    }
                    _ => self.objects(place, item, path, found),
                }
                path.truncate(path.len() - 2);
            }
            return;
        }
        let is_named = !api_version.is_empty() && !kind.is_empty();
        let others = self.other_kinds.filter(|_| is_named);
        let Some(read) = known.map(|kind| kind.read).or(others) else {
            let reason = self.unknown(value, api_version, kind);
            return found.push(Err(place.error(path, &[], reason)));
        };
        let mut unknown = Vec::new();
        match read(value, &mut unknown) {
            Err(failure) => found.push(Err(place.error(path, &failure.path, failure.reason))),
            Ok(_) if self.strict && !unknown.is_empty() => {
                let errors = unknown.iter().map(|field| {
                    let reason = "the type has no such field".to_owned();
                    Err(place.error(path, field, reason))
                });
                found.extend(errors);
            }
            Ok(object) => found.push(Ok(Manifest {
                document: place.number,
                line: place.line(path),
                path: path.clone(),
                types: TypeMeta {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                },
                object,
            })),
        }
    }

    /// Why the scheme has no type for an object.
    fn unknown(&self, value: &Value, api_version: &str, kind: &str) -> String {
        if !value.is_object() {
            return "not an object: `apiVersion`, `kind` and `metadata` are missing".into();
        }
        for (key, text) in [("apiVersion", api_version), ("kind", kind)] {
            if text.is_empty() {
                return format!("`{key}` is missing: every object needs it");
            }
        }
        let other = self.kinds.keys().find(|(_, known)| known == kind);
        let other = other.map_or_else(String::new, |(version, _)| {
            format!(", which has it in {version}")
        });
        format!(
            "the kind {kind} in {api_version} is not in the scheme{other}: add its type with `Scheme::with`, or read all kinds with `Scheme::with_other_kinds`"
        )
    }
}

/// The document that holds an object.
#[derive(Clone, Copy)]
struct ObjectPlace<'a> {
    document: Document<'a>,
    number: usize,
    /// Parsed once, when the first line number is needed.
    node: &'a OnceCell<Node>,
}

impl ObjectPlace<'_> {
    fn line(&self, path: &[PathStep]) -> usize {
        // An object that is the whole document needs no search.
        let line = match path.is_empty() {
            true => self.document.first_line(),
            false => {
                let node = self.node.get_or_init(|| self.document.node());
                node.line_of(path)
            }
        };
        self.document.line + line - 1
    }

    fn error(&self, object: &[PathStep], within: &[PathStep], reason: String) -> ManifestError {
        let path = [object, within].concat();
        ManifestError {
            document: self.number,
            line: self.line(&path),
            path: format_path(&path),
            reason,
        }
    }
}

const fn is_one_kind<A: Resource, B: Resource>() -> bool {
    same(A::GROUP, B::GROUP) && same(A::KIND, B::KIND)
}

fn version<K: Resource>() -> Version {
    Version {
        type_id: TypeId::of::<K>(),
        resource: ApiResource::of::<K>(),
    }
}

fn read<K: Object + Serialize + DeserializeOwned>(
    value: &Value,
    unknown: &mut Vec<Vec<PathStep>>,
) -> Result<Box<dyn AnyObject>, DecodeFailure> {
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(steps(&path));
    let mut track = serde_path_to_error::Track::new();
    let inner = serde_ignored::Deserializer::new(value, &mut note);
    let object = K::deserialize(serde_path_to_error::Deserializer::new(inner, &mut track));
    match object {
        Ok(object) => Ok(Box::new(object)),
        Err(error) => Err(DecodeFailure {
            path: tracked(&track.path()),
            reason: decode_reason(&error.to_string()),
        }),
    }
}

fn tracked(path: &serde_path_to_error::Path) -> Vec<PathStep> {
    use serde_path_to_error::Segment;
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(PathStep::Index(*index)),
        Segment::Map { key } => Some(PathStep::Key(key.clone())),
        Segment::Enum { variant } => Some(PathStep::Key(variant.clone())),
        Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

fn steps(path: &serde_ignored::Path<'_>) -> Vec<PathStep> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(PathStep::Index(*index))),
        Path::Map { parent, key } => (parent, Some(PathStep::Key(key.clone()))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut all = steps(parent);
    all.extend(step);
    all
}
