use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData, ops::Range, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, Visitor},
};

use super::{
    Dictionary, lenient,
    received::{Received, decode, is_small},
    types::Types,
};
use crate::{
    client::codec::{Codec, Cuts, Format, JsonPlace, ObjectOutline, Part, with_codec},
    resource::{ApiResource, Object, ObjectKey, ObjectMeta, OwnerReference, Undecodable},
};

/// An object as the server sent it, without its managed fields, and not decoded.
///
/// What a cache itself needs was read in one pass when the object arrived: its key, and where UID, resource version, labels,
/// owner references and metadata lie. Everything else is read when somebody asks for it. The object may be nested to any depth.
pub(crate) struct ObjectBytes {
    format: Format,
    /// The object. Strings follow it that lie in it with escapes. With a dictionary: UID and resource version, and then the
    /// compressed object.
    bytes: Box<[u8]>,
    /// The length of the object, before it was compressed.
    len: u32,
    dictionary: Option<Arc<Dictionary>>,
    key: ObjectKey,
    // Places in `bytes`.
    uid: Span,
    resource_version: Span,
    // Places in the object, before it was compressed.
    labels: Span,
    owner_references: Span,
    metadata: Span,
    is_deleting: bool,
}

/// A part of bytes. It is empty if the object does not have the field.
#[derive(Clone, Copy, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// A string, which is borrowed unless it has escapes.
struct Text<'a>(Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
struct Outline<'a, R> {
    #[serde(borrow, default)]
    api_version: Option<Text<'a>>,
    #[serde(borrow, default)]
    kind: Option<Text<'a>>,
    #[serde(default = "none")]
    metadata: Option<R>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
struct MetadataOutline<'a, R> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    namespace: Option<Text<'a>>,
    #[serde(borrow, default)]
    uid: Option<Text<'a>>,
    #[serde(borrow, default)]
    resource_version: Option<Text<'a>>,
    #[serde(default = "none")]
    labels: Option<R>,
    #[serde(default = "none")]
    owner_references: Option<R>,
    #[serde(default = "none")]
    deletion_timestamp: Option<R>,
    #[serde(default = "none")]
    managed_fields: Option<R>,
}

fn none<R>() -> Option<R> {
    None
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

impl ObjectBytes {
    /// The object that the part is. The managed fields are left out unless they are `wanted`.
    ///
    /// # Errors
    /// The readable parts of the object, if its metadata cannot be read, or if it is of another kind than `resource`.
    pub(super) fn read(
        part: Part<'_, '_>,
        resource: &ApiResource,
        wanted: bool,
    ) -> Result<Self, Box<Undecodable>> {
        let Part {
            format,
            bytes,
            place,
        } = part;
        let read =
            with_codec!(format, codec => Self::read_as(codec, bytes, place, resource, wanted));
        read.map_err(|reason| lenient::undecodable(format, bytes, resource, reason).into())
    }

    fn read_as<'de, C: Codec>(
        codec: C,
        bytes: &'de [u8],
        at: Option<JsonPlace<'de, '_>>,
        resource: &ApiResource,
        wanted: bool,
    ) -> Result<Self, String> {
        let opened = codec.opened(bytes)?;
        let (codec, bytes) = (opened.codec, opened.bytes);
        if u32::try_from(bytes.len()).is_err() {
            return Err("it is 4 GiB or larger".to_owned());
        }
        let check = |api_version: Option<&str>, kind: Option<&str>| {
            let [of_envelope, kind_of_envelope] = opened.types;
            let api_version = api_version.unwrap_or(of_envelope);
            let kind = kind.unwrap_or(kind_of_envelope);
            Types::new(Some(api_version), Some(kind)).check_object(resource, true)
        };
        let outline = match codec.outline(bytes) {
            Some(outline) => {
                check(None, None)?;
                outline
            }
            None => read_outline(codec, bytes, at, check)?,
        };
        let Some(metadata) = outline.metadata else {
            return Ok(Self::without_metadata(codec.format(), bytes));
        };
        let part = |part: Option<&[u8]>| part.and_then(|part| place(bytes, part));
        let managed_fields = part(outline.managed_fields).filter(|_| !wanted);
        let cuts = match (part(Some(metadata)), managed_fields) {
            (Some(metadata), Some(managed)) => codec.cuts(bytes, metadata, managed),
            _ => Cuts::default(),
        };
        let moved =
            |range: Range<usize>| Span::of(cuts.shifted(range.start)..cuts.shifted(range.end));
        let mut stored = cuts.apply(bytes);
        let len = stored.len();
        let mut string = |text: &Option<Cow<'_, str>>| match text {
            None => Span::default(),
            Some(text) => {
                let lies_at = match text {
                    Cow::Borrowed(text) => part(Some(text.as_bytes())),
                    Cow::Owned(_) => None,
                };
                match lies_at {
                    Some(range) => moved(range),
                    None => {
                        let start = stored.len();
                        stored.extend_from_slice(text.as_bytes());
                        Span::of(start..stored.len())
                    }
                }
            }
        };
        let (uid, resource_version) = (string(&outline.uid), string(&outline.resource_version));
        let span = |place| part(place).map_or(Span::default(), moved);
        let name = outline.name.as_deref().unwrap_or_default();
        Ok(Self {
            format: codec.format(),
            len: u32::try_from(len).unwrap_or(u32::MAX),
            dictionary: None,
            key: ObjectKey::new(outline.namespace.as_deref(), name),
            uid,
            resource_version,
            labels: span(outline.labels),
            owner_references: span(outline.owner_references),
            metadata: span(Some(metadata)),
            is_deleting: outline.is_deleting,
            bytes: stored.into(),
        })
    }

    /// An object in JSON.
    #[cfg(test)]
    pub(crate) fn of_json<K: crate::resource::Resource>(json: &str) -> Self {
        let resource = ApiResource::of::<K>();
        let json = Part::of_bytes(Format::Json, json.as_bytes());
        Self::read(json, &resource, false).unwrap()
    }

    /// The same bytes with a dictionary that does not fit them.
    #[cfg(all(test, feature = "zstd"))]
    pub(super) fn broken(self, dictionary: &Arc<Dictionary>) -> Self {
        Self {
            dictionary: Some(dictionary.clone()),
            ..self
        }
    }

    fn without_metadata(format: Format, bytes: &[u8]) -> Self {
        Self {
            format,
            bytes: bytes.into(),
            len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            dictionary: None,
            key: ObjectKey::cluster(""),
            uid: Span::default(),
            resource_version: Span::default(),
            labels: Span::default(),
            owner_references: Span::default(),
            metadata: Span::default(),
            is_deleting: false,
        }
    }

    /// The same object in its compressed form, if that is smaller by an eighth at least.
    pub(crate) fn compressed(self, dictionary: &Arc<Dictionary>) -> Self {
        let strings = [self.uid, self.resource_version].map(|span| span.of_bytes(&self.bytes));
        let compressed = match self.object() {
            // An empty string has no place of its own.
            Ok(Cow::Borrowed(object)) if !strings.contains(&Some(&[])) => {
                dictionary.compress(object)
            }
            _ => None,
        };
        let Some(compressed) = compressed else {
            return self;
        };
        let mut bytes = Vec::new();
        let [uid, resource_version] = strings.map(|string| {
            let start = bytes.len();
            bytes.extend_from_slice(string.unwrap_or_default());
            string.map_or(Span::default(), |_| Span::of(start..bytes.len()))
        });
        bytes.extend_from_slice(&compressed);
        if bytes.len() > self.bytes.len() / 8 * 7 {
            return self;
        }
        Self {
            bytes: bytes.into(),
            dictionary: Some(dictionary.clone()),
            uid,
            resource_version,
            ..self
        }
    }

    /// Namespace and name. An object without a name has an empty one.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// `metadata.uid`
    pub(crate) fn uid(&self) -> Option<&str> {
        self.string(self.uid)
    }

    /// `metadata.resourceVersion`
    pub(crate) fn resource_version(&self) -> Option<&str> {
        self.string(self.resource_version)
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub(crate) fn is_deleting(&self) -> bool {
        self.is_deleting
    }

    /// `metadata.labels`. Those that are no strings are left out.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        match self.part(self.labels) {
            Some(labels) => with_codec!(self.format, codec => {
                let codec = codec.of_metadata(Some("labels"));
                let all = codec.read_owned(&labels);
                all.unwrap_or_else(|_| lenient::labels(codec, &labels))
            }),
            None => BTreeMap::new(),
        }
    }

    /// `metadata.ownerReferences`. Those that do not decode are left out.
    pub(crate) fn owner_references(&self) -> Vec<OwnerReference> {
        match self.part(self.owner_references) {
            Some(owners) => with_codec!(self.format, codec => {
                let codec = codec.of_metadata(Some("ownerReferences"));
                let all = codec.read_owned(&owners);
                all.unwrap_or_else(|_| lenient::owner_references(codec, &owners))
            }),
            None => Vec::new(),
        }
    }

    /// `metadata`, without the managed fields. Returns `None` if it does not decode.
    pub(crate) fn metadata(&self) -> Option<ObjectMeta> {
        let metadata = self.part(self.metadata)?;
        with_codec!(self.format, codec => codec.of_metadata(None).read_owned(&metadata)).ok()
    }

    /// Decodes the object, which is of the kind of `resource`.
    ///
    /// # Errors
    /// The reason, which names a path and never a value.
    pub(crate) fn decode<K: Object + DeserializeOwned>(
        &self,
        resource: &ApiResource,
    ) -> Result<Arc<K>, String> {
        let object = self.object()?;
        let whole = Part::of_bytes(self.format, &object);
        // What the caller does not want is not there any more.
        decode(whole, resource, true)
    }

    /// The metadata alone, as if the server had sent nothing else.
    ///
    /// # Errors
    /// The readable parts of the object, if its metadata cannot be read.
    pub(crate) fn metadata_object<K: Object + DeserializeOwned>(
        &self,
        resource: &ApiResource,
        decodes_small: bool,
    ) -> Result<Received<K>, Box<Undecodable>> {
        let metadata = self.part(self.metadata).unwrap_or_default();
        let object = with_codec!(self.format, codec => codec.object_of_metadata(&metadata));
        let object = Part::of_bytes(self.format, &object);
        Received::read(object, resource, true, decodes_small)
    }

    /// The readable parts of an object that does not decode: what was noted when it arrived.
    pub(crate) fn undecodable(&self, resource: &ApiResource, reason: String) -> Undecodable {
        Undecodable {
            resource: resource.clone(),
            key: self.key.clone(),
            uid: self.uid().map(str::to_owned),
            resource_version: self.resource_version().map(str::to_owned),
            labels: self.labels(),
            owner_references: self.owner_references(),
            is_deleting: self.is_deleting,
            reason,
        }
    }

    /// Bytes of the object, before it was compressed.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the object is small: see [`is_small`].
    pub(crate) fn is_small(&self) -> bool {
        is_small(self.format, self.len())
    }

    /// Bytes that the object takes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The object.
    ///
    /// # Errors
    /// The reason, if its compressed form is broken.
    pub(crate) fn object(&self) -> Result<Cow<'_, [u8]>, String> {
        let Some(dictionary) = &self.dictionary else {
            let object = self.bytes.get(..self.len as usize);
            return Ok(object.unwrap_or_default().into());
        };
        let start = self.uid.end.max(self.resource_version.end) as usize;
        let compressed = self.bytes.get(start..).unwrap_or_default();
        let object = dictionary.decompress(compressed, self.len());
        object.map(Cow::Owned)
    }

    /// A string that lies in the bytes as they are.
    fn string(&self, span: Span) -> Option<&str> {
        std::str::from_utf8(span.of_bytes(&self.bytes)?).ok()
    }

    /// A part of the object. `None` if the object does not have the field.
    fn part(&self, span: Span) -> Option<Cow<'_, [u8]>> {
        if span.end == 0 {
            return None;
        }
        Some(match self.object().ok()? {
            Cow::Borrowed(object) => span.of_bytes(object)?.into(),
            Cow::Owned(object) => span.of_bytes(&object)?.to_owned().into(),
        })
    }
}

impl Span {
    /// `None` if the object does not have the field.
    fn of_bytes(self, bytes: &[u8]) -> Option<&[u8]> {
        let part = bytes.get(self.start as usize..self.end as usize);
        part.filter(|_| self.end > 0)
    }

    fn of(range: Range<usize>) -> Self {
        let [start, end] = [range.start, range.end].map(u32::try_from);
        match (start, end) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::default(),
        }
    }
}

/// Reads the outline of an object in any encoding. `check` gets its `apiVersion` and its `kind`.
pub(super) fn read_outline<'de, C: Codec>(
    codec: C,
    bytes: &'de [u8],
    at: Option<JsonPlace<'de, '_>>,
    check: impl FnOnce(Option<&str>, Option<&str>) -> Result<(), String>,
) -> Result<ObjectOutline<'de>, String> {
    let outline = codec.read_at(bytes, at, PhantomData::<Outline<'_, C::Raw<'_>>>)?;
    let text = |text: Option<Text<'de>>| text.map(|Text(text)| text);
    let (api_version, kind) = (text(outline.api_version), text(outline.kind));
    check(api_version.as_deref(), kind.as_deref())?;
    let Some(metadata) = outline.metadata else {
        return Ok(ObjectOutline::default());
    };
    let at = codec.place_of(at, &metadata);
    let (metadata_codec, metadata) = codec.part(metadata);
    let parts = PhantomData::<MetadataOutline<'_, C::Raw<'_>>>;
    let parts = metadata_codec.read_at(metadata, at, parts);
    let parts = parts.map_err(|reason| format!("metadata: {reason}"))?;
    let part = |part: Option<C::Raw<'de>>| part.map(|part| codec.part(part).1);
    Ok(ObjectOutline {
        metadata: Some(metadata),
        name: text(parts.name),
        namespace: text(parts.namespace),
        uid: text(parts.uid),
        resource_version: text(parts.resource_version),
        labels: part(parts.labels),
        owner_references: part(parts.owner_references),
        managed_fields: part(parts.managed_fields),
        is_deleting: parts.deletion_timestamp.is_some(),
    })
}

/// Where `part` lies in `bytes`. Returns `None` if it does not lie there.
fn place(bytes: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
    let range = start..start.checked_add(part.len())?;
    (range.end <= bytes.len()).then_some(range)
}

/// Shows the key only: objects may hold secrets.
impl fmt::Debug for ObjectBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectBytes").field(&self.key).finish()
    }
}
