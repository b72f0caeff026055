use std::{cell::OnceCell, collections::BTreeMap, fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Manifest, ManifestError, document::Document, manifest::AnyObject};
use crate::resource::{
    ApiResource, DynamicObject, Object, Resource, Step, TypeMeta, misfit, show, yaml::Node,
};

/// Which kinds manifests may hold, and how they are read; see [the module](super).
#[derive(Clone, Default)]
pub struct Scheme {
    kinds: Arc<BTreeMap<(String, String), Read>>,
    /// How other kinds are read, if they are.
    others: Option<Read>,
    strict: bool,
}

/// Reads an object, and notes the fields that its type does not have.
type Read = fn(&Value, &mut Vec<Vec<Step>>) -> Result<Box<dyn AnyObject>, Misfit>;

/// Where a value does not fit its type, and why.
struct Misfit {
    path: Vec<Step>,
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
    /// A scheme that knows no kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads objects of kind `K` as such.
    #[must_use]
    pub fn with<K: Resource + Serialize + DeserializeOwned>(mut self) -> Self {
        let resource = ApiResource::of::<K>();
        let name = (resource.api_version(), resource.kind.to_string());
        Arc::make_mut(&mut self.kinds).insert(name, read::<K>);
        self
    }

    /// Reads objects of all other kinds as [`DynamicObject`]s; without it they are errors.
    // Most programs never do: it is built in those that do.
    #[inline]
    #[must_use]
    pub fn with_others(mut self) -> Self {
        self.others = Some(read::<DynamicObject>);
        self
    }

    /// Takes a field that the type does not have, and a key that is there twice, for an error, as
    /// `kubectl apply --validate=strict` does. Without it they count for nothing, but for the last of
    /// several equal keys.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The objects in `text`, which is YAML, JSON or both, in their order.
    ///
    /// An object that cannot be read is an error in its place. Of an object with several unknown
    /// fields each is one.
    pub fn decode(&self, text: &str) -> Vec<Result<Manifest, ManifestError>> {
        let mut found = Vec::new();
        let mut number = 0;
        for document in Document::split(text) {
            number += 1;
            match document.parse(self.strict) {
                Ok(Value::Null) => number -= 1,
                Ok(value) => {
                    let place = Place {
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
                        path: show(&malformed.path),
                        reason: malformed.reason,
                    }));
                }
            }
        }
        found
    }

    /// The object at `path` or, if it is a list, those in it.
    fn objects(
        &self,
        place: Place<'_>,
        value: &Value,
        path: &mut Vec<Step>,
        found: &mut Vec<Result<Manifest, ManifestError>>,
    ) {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let known = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        let items = value.get("items").and_then(Value::as_array);
        if let (None, Some(of), Some(items)) = (known, kind.strip_suffix("List"), items) {
            for (index, item) in items.iter().enumerate() {
                path.extend([Step::Key("items".into()), Step::Index(index)]);
                // An API server leaves out what the list's kind says.
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
        let others = self.others.filter(|_| is_named);
        let Some(read) = known.copied().or(others) else {
            let reason = self.unknown(value, api_version, kind);
            return found.push(Err(place.error(path, &[], reason)));
        };
        let mut unknown = Vec::new();
        match read(value, &mut unknown) {
            Err(misfit) => found.push(Err(place.error(path, &misfit.path, misfit.reason))),
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
                types: TypeMeta {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                },
                object,
            })),
        }
    }

    /// Why an object is of no known kind.
    fn unknown(&self, value: &Value, api_version: &str, kind: &str) -> String {
        if !value.is_object() {
            return "it is no object: `apiVersion`, `kind` and `metadata` are missing".into();
        }
        for (key, text) in [("apiVersion", api_version), ("kind", kind)] {
            if text.is_empty() {
                return format!("it has no `{key}`: every object needs one");
            }
        }
        let other = self.kinds.keys().find(|(_, known)| known == kind);
        let other = other.map_or_else(String::new, |(version, _)| {
            format!(", which knows it in {version}")
        });
        format!(
            "the kind {kind} in {api_version} is not in the scheme{other}: add its type by `Scheme::with`, or take all kinds by `Scheme::with_others`"
        )
    }
}

/// Where an object stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    document: Document<'a>,
    number: usize,
    /// Read when a line is asked for, once for all of them.
    node: &'a OnceCell<Node>,
}

impl Place<'_> {
    fn line(&self, path: &[Step]) -> usize {
        // The usual case need not be looked for.
        let line = match path.is_empty() {
            true => self.document.first_line(),
            false => {
                let node = self.node.get_or_init(|| self.document.node());
                node.line_of(path)
            }
        };
        self.document.line + line - 1
    }

    fn error(&self, object: &[Step], within: &[Step], reason: String) -> ManifestError {
        let path = [object, within].concat();
        ManifestError {
            document: self.number,
            line: self.line(&path),
            path: show(&path),
            reason,
        }
    }
}

fn read<K: Object + Serialize + DeserializeOwned>(
    value: &Value,
    unknown: &mut Vec<Vec<Step>>,
) -> Result<Box<dyn AnyObject>, Misfit> {
    let mut note = |path: serde_ignored::Path<'_>| unknown.push(steps(&path));
    let mut track = serde_path_to_error::Track::new();
    let inner = serde_ignored::Deserializer::new(value, &mut note);
    let object = K::deserialize(serde_path_to_error::Deserializer::new(inner, &mut track));
    match object {
        Ok(object) => Ok(Box::new(object)),
        Err(error) => Err(Misfit {
            path: tracked(&track.path()),
            reason: misfit(&error.to_string()),
        }),
    }
}

fn tracked(path: &serde_path_to_error::Path) -> Vec<Step> {
    use serde_path_to_error::Segment;
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { variant } => Some(Step::Key(variant.clone())),
        Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

fn steps(path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        Path::Map { parent, key } => (parent, Some(Step::Key(key.clone()))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut all = steps(parent);
    all.extend(step);
    all
}
