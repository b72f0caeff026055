use std::{collections::BTreeSet, fmt, marker::PhantomData};

use fastrand::Rng;
use serde_json::{Value, json};

use super::{generate, written::leave_what_is_written};
use crate::{
    crd::{CustomResource, to_json},
    resource::{ApiResource, CrdError, Resource, Versions, versions},
};

/// The objects that are made of each version.
const OBJECTS: u64 = 200;
/// The longest value that is shown.
const LONGEST: usize = 200;
/// The objects among them that have to succeed. Others are not valid, or this cannot make them.
const LEAST: u64 = 20;

/// Checks that the conversions between the versions of a kind lose nothing. `K` is the type of the stored version.
///
/// It makes objects from the schema of each version, always the same ones, converts them to each other version and back, and changes some
/// of them in between. [`RoundTrips::check`] says what has to hold.
///
/// ```
/// use pilothouse::{Resource, Schema, resource::ObjectMeta, testing};
/// use serde::{Deserialize, Serialize};
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
/// testing::round_trips::<Page>().not_in("v1beta1", ["spec.language"]).check()?;
/// # Ok::<(), testing::BrokenRoundTrip>(())
/// ```
pub fn round_trips<K: CustomResource>() -> RoundTrips<K> {
    RoundTrips {
        not_in: BTreeSet::new(),
        kind: PhantomData,
    }
}

/// The check of the conversions of a kind: see [`round_trips`].
#[derive(Clone, Debug)]
#[must_use = "`check` does the work"]
pub struct RoundTrips<K> {
    /// Version and path of a field that the version cannot express.
    not_in: BTreeSet<(String, String)>,
    kind: PhantomData<fn() -> K>,
}

impl<K: CustomResource> RoundTrips<K> {
    /// Names the fields of the other versions that this version cannot express, such as `spec.tls`. A conversion keeps them in an
    /// annotation. A list is one field.
    pub fn not_in<S: Into<String>>(
        mut self,
        version: &str,
        fields: impl IntoIterator<Item = S>,
    ) -> Self {
        let fields = fields.into_iter();
        self.not_in
            .extend(fields.map(|field| (version.to_owned(), field.into())));
        self
    }

    /// Checks for each two versions:
    ///
    /// * each object can be converted to the other version and back, and is then the same as before;
    /// * the other version expresses all fields but those that [`not_in`](Self::not_in) names, and these it cannot express;
    /// * what somebody changes in the other version is still there after the way back and there again.
    ///
    /// # Errors
    /// [`BrokenRoundTrip`] names the versions, the field, and its values before and after. It contains the object, which was made for this check.
    pub fn check(self) -> Result<(), BrokenRoundTrip> {
        let definition = K::crd()?;
        let definition = to_json(&definition);
        let versions = Versions::of::<K>();
        let made = versions.all().map(|version| {
            let made = Made::new(version, &definition, &versions)?;
            Ok((version, made))
        });
        let made = made.collect::<Result<Vec<_>, BrokenRoundTrip>>()?;
        let mut kept = BTreeSet::new();
        for (from, made_from) in &made {
            for (to, others) in made.iter().filter(|(to, _)| to.version != from.version) {
                let pair = Pair {
                    versions: &versions,
                    from,
                    to,
                    not_in: &self.not_in,
                };
                for (number, object) in made_from.objects.iter().enumerate() {
                    let other = &others.objects[number % others.objects.len()];
                    kept.extend(pair.check(object, other)?);
                }
            }
        }
        for (version, field) in &self.not_in {
            let is_kept = |(of, path): &(String, String)| of == version && is_in(path, field);
            if !kept.iter().any(is_kept) {
                let problem = format!("{version} expresses {field}: remove it from `not_in`");
                return Err(BrokenRoundTrip::new::<K>(problem, None));
            }
        }
        Ok(())
    }
}

/// Objects of one version.
struct Made {
    objects: Vec<Value>,
}

impl Made {
    fn new(
        resource: &ApiResource,
        definition: &Value,
        versions: &Versions,
    ) -> Result<Self, BrokenRoundTrip> {
        let all = definition["spec"]["versions"].as_array();
        let mut all = all.into_iter().flatten();
        let version = all.find(|one| one["name"] == *resource.version);
        let schema = version.map(|one| &one["schema"]["openAPIV3Schema"]["properties"]);
        let schema = schema.unwrap_or(&Value::Null);
        let mut objects: Vec<Value> = (0..OBJECTS)
            .filter_map(|seed| object(resource, schema, &mut Rng::with_seed(seed)))
            .collect();
        for object in &mut objects {
            let Some(typed) = versions.as_typed(object) else {
                continue;
            };
            let mut written = object.clone();
            let fields = written.as_object_mut().into_iter().flatten();
            for (name, value) in fields.filter(|(name, _)| *name != "metadata") {
                leave_what_is_written(value, &typed[name]);
            }
            // A value that reads as another one, if it is left out, is not the same object.
            if versions.as_typed(&written).as_ref() == Some(&typed) {
                *object = written;
            }
        }
        if (objects.len() as u64) < LEAST {
            return Err(BrokenRoundTrip {
                kind: resource.kind.to_string(),
                problem: format!(
                    "no objects of {} could be made from its schema: write `#[schema(example = ..)]` on fields with a `format` or a \
                     pattern with special parts",
                    resource.version
                ),
                object: None,
            });
        }
        Ok(Self { objects })
    }
}

fn object(resource: &ApiResource, schema: &Value, random: &mut Rng) -> Option<Value> {
    let mut object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": "made", "uid": "0", "resourceVersion": "1", "labels": {"a": "b"}},
    });
    for (field, schema) in schema.as_object().into_iter().flatten() {
        if !matches!(&**field, "apiVersion" | "kind" | "metadata") {
            object[field] = generate::value(schema, random)?;
        }
    }
    Some(object)
}

/// Two versions of a kind.
struct Pair<'a> {
    versions: &'a Versions,
    from: &'a ApiResource,
    to: &'a ApiResource,
    not_in: &'a BTreeSet<(String, String)>,
}

impl Pair<'_> {
    /// Checks one object, and the change to the content of `other` in between. Returns what the other version cannot express.
    fn check(
        &self,
        object: &Value,
        other: &Value,
    ) -> Result<Vec<(String, String)>, BrokenRoundTrip> {
        let there = self.convert(object, self.to, object)?;
        let version = &*self.to.version;
        let kept = versions::kept_fields(&there, &self.from.version);
        for field in &kept {
            let is_declared = |(of, path): &(String, String)| of == version && is_in(field, path);
            if !self.not_in.iter().any(is_declared) {
                let mut forgotten = there.clone();
                forgotten["metadata"]["annotations"] = json!({});
                let back = self.convert(&forgotten, self.from, object)?;
                let problem = format!(
                    "{version} does not express {field} of {}: convert the field, or name it with `not_in({version:?}, [{field:?}])`\n  before: {}\n  after:  {}",
                    self.from.version,
                    shown(at(object, field)),
                    shown(at(&back, field))
                );
                return Err(self.broken(problem, object));
            }
        }
        let back = self.convert(&there, self.from, object)?;
        self.same(&back, object, "there and back", object)?;
        let mut changed = other.clone();
        changed["metadata"] = there["metadata"].clone();
        let stored = self.convert(&changed, self.from, &changed)?;
        let again = self.convert(&stored, self.to, &changed)?;
        self.same(&again, &changed, "after a change", &changed)?;
        Ok(kept
            .into_iter()
            .map(|field| (version.to_owned(), field))
            .collect())
    }

    fn convert(
        &self,
        object: &Value,
        to: &ApiResource,
        made: &Value,
    ) -> Result<Value, BrokenRoundTrip> {
        let converted = self.versions.convert(object.clone(), &to.api_version());
        converted.map_err(|error| {
            let hint = match self.versions.fits_type(made) {
                true => "",
                false => {
                    ". The schema allows a value that the type does not read: give the field a `pattern`, `values` or bounds, or an `example` if it takes any value"
                }
            };
            let object = shown(Some(&versions::content(made)));
            self.broken(format!("{error}{hint}\n  object: {object}"), made)
        })
    }

    fn same(
        &self,
        one: &Value,
        other: &Value,
        when: &str,
        made: &Value,
    ) -> Result<(), BrokenRoundTrip> {
        let (before, after) = (versions::content(other), versions::content(one));
        let lost = first_loss(&before, &after, String::new());
        match lost {
            None => Ok(()),
            Some(Loss {
                path,
                before,
                after,
            }) => {
                let (from, to) = (&self.from.version, &self.to.version);
                let problem = format!(
                    "between {from} and {to}, {path} is another value {when}\n  before: {}\n  after:  {}",
                    shown(Some(before)),
                    shown(after)
                );
                Err(self.broken(problem, made))
            }
        }
    }

    fn broken(&self, problem: String, object: &Value) -> BrokenRoundTrip {
        BrokenRoundTrip {
            kind: self.from.kind.to_string(),
            problem,
            object: Some(object.clone()),
        }
    }
}

/// Whether a field is `whole` or in it.
fn is_in(field: &str, whole: &str) -> bool {
    let rest = field.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A value that a conversion has changed.
struct Loss<'a> {
    path: String,
    before: &'a Value,
    /// `None` if the field is gone.
    after: Option<&'a Value>,
}

/// The first value in `before` that is another one in `after`. A type may add defaults.
fn first_loss<'a>(before: &'a Value, after: &'a Value, path: String) -> Option<Loss<'a>> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before.iter().find_map(|(name, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            let inner = format!("{path}{dot}{name}");
            match after.get(name) {
                Some(after) => first_loss(value, after, inner),
                None => Some(Loss {
                    path: inner,
                    before: value,
                    after: None,
                }),
            }
        }),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let mut pairs = before.iter().zip(after).enumerate();
            pairs.find_map(|(index, (one, other))| {
                first_loss(one, other, format!("{path}[{index}]"))
            })
        }
        _ if before == after => None,
        _ => Some(Loss {
            path,
            before,
            after: Some(after),
        }),
    }
}

/// The value of a field.
fn at<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    let mut names = field.split('.');
    names.try_fold(object, |value, name| value.get(name))
}

/// A value as JSON, shortened.
fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Why a conversion loses something: the versions, the field, and its values before and after. The text has few lines; [`object`](Self::object) is
/// everything.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("round trip of {kind}: {problem}")]
pub struct BrokenRoundTrip {
    kind: String,
    problem: String,
    object: Option<Value>,
}

impl BrokenRoundTrip {
    /// The object that was converted, if there is one.
    pub fn object(&self) -> Option<&Value> {
        self.object.as_ref()
    }

    fn new<K: Resource>(problem: String, object: Option<Value>) -> Self {
        let kind = K::KIND.to_owned();
        Self {
            kind,
            problem,
            object,
        }
    }
}

impl From<CrdError> for BrokenRoundTrip {
    fn from(error: CrdError) -> Self {
        Self {
            kind: error.kind.clone(),
            problem: format!("it has no definition: {error}"),
            object: None,
        }
    }
}

/// As the text, so that `unwrap` in a test shows it.
impl fmt::Debug for BrokenRoundTrip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
