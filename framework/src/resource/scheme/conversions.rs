use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap},
    error::Error as StdError,
    fmt,
    sync::Arc,
};

use crate::resource::{ApiResource, ObjectKey};

/// Converts a value of one type to one of another.
type Function =
    dyn Fn(Box<dyn Any>) -> Result<Box<dyn Any>, Box<dyn StdError + Send + Sync>> + Send + Sync;

/// The conversions between the versions of kinds that a [`Scheme`](super::Scheme) knows.
#[derive(Clone, Default)]
pub(super) struct Conversions {
    functions: HashMap<(TypeId, TypeId), Arc<Function>>,
    /// By group and kind.
    hubs: BTreeMap<(String, String), Version>,
}

/// One version of a kind, and its Rust type.
#[derive(Clone)]
pub(super) struct Version {
    pub(super) type_id: TypeId,
    pub(super) resource: ApiResource,
}

impl Conversions {
    pub(super) fn add<A: 'static, B: 'static, E>(
        &mut self,
        function: impl Fn(A) -> Result<B, E> + Send + Sync + 'static,
    ) where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let function = move |value: Box<dyn Any>| match value.downcast::<A>() {
            Ok(value) => match function(*value) {
                Ok(value) => Ok(Box::new(value) as Box<dyn Any>),
                Err(error) => Err(error.into()),
            },
            // The key of the map says which type it is.
            Err(_) => Err("the value is of another type".into()),
        };
        let key = (TypeId::of::<A>(), TypeId::of::<B>());
        self.functions.insert(key, Arc::new(function));
    }

    pub(super) fn set_hub(&mut self, hub: Version) {
        self.hubs.insert(kind_of(&hub.resource), hub);
    }

    /// Converts `value`, directly or by way of the hub of the kind.
    pub(super) fn convert(
        &self,
        value: Box<dyn Any>,
        key: &ObjectKey,
        from: &Version,
        to: &Version,
    ) -> Result<Box<dyn Any>, ConversionError> {
        if from.type_id == to.type_id {
            return Ok(value);
        }
        let failed = |by_way: &str, source: Box<dyn StdError + Send + Sync>| ConversionError {
            source: Some(source),
            ..ConversionError::new(key.clone(), from, to, by_way.to_owned())
        };
        let function =
            |from: &Version, to: &Version| self.functions.get(&(from.type_id, to.type_id));
        if let Some(direct) = function(from, to) {
            return direct(value).map_err(|source| failed("", source));
        }
        let hub = self.hubs.get(&kind_of(&from.resource));
        let missing = |text: &str| {
            let reason = format!("{text}: register one with `Scheme::with_conversion`");
            Err(ConversionError::new(key.clone(), from, to, reason))
        };
        let Some(hub) = hub.filter(|hub| ![from.type_id, to.type_id].contains(&hub.type_id)) else {
            return missing("there is no conversion between these versions");
        };
        let version = hub.resource.api_version();
        let (Some(first), Some(second)) = (function(from, hub), function(hub, to)) else {
            let (one, other) = match function(from, hub) {
                None => (from.resource.api_version(), version),
                Some(_) => (version, to.resource.api_version()),
            };
            return missing(&format!(
                "there is no conversion from {one} to {other}, one of which is the hub"
            ));
        };
        let converted = first(value).and_then(|value| second(value));
        converted.map_err(|source| failed(&format!("by way of {version}: "), source))
    }
}

impl ConversionError {
    /// The error of a conversion of [`Versions`](crate::resource::Versions).
    pub(in crate::resource) fn of(
        kind: &str,
        key: ObjectKey,
        from: &str,
        to: &str,
        reason: String,
    ) -> Self {
        Self {
            kind: kind.into(),
            key,
            from: from.into(),
            to: to.into(),
            reason,
            source: None,
        }
    }

    pub(super) fn new(key: ObjectKey, from: &Version, to: &Version, reason: String) -> Self {
        Self {
            kind: from.resource.kind.to_string(),
            key,
            from: from.resource.api_version().into(),
            to: to.resource.api_version().into(),
            reason,
            source: None,
        }
    }
}

pub(super) fn kind_of(resource: &ApiResource) -> (String, String) {
    (resource.group.to_string(), resource.kind.to_string())
}

/// Why an object has no form in another version of its kind:
/// `convert Widget default/a from demo.dev/v1alpha1 to demo.dev/v1: the size must be a number`.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConversionError {
    /// The kind.
    pub kind: String,
    /// The object.
    pub key: ObjectKey,
    /// The `apiVersion` of the object.
    pub from: Box<str>,
    /// The requested `apiVersion`.
    pub to: Box<str>,
    /// What went wrong, and what to do. If a function of the program failed, its error is the
    /// [source](StdError::source), and this is what comes before it.
    pub reason: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            key,
            from,
            to,
            reason,
            ..
        } = self;
        write!(f, "convert {kind} {key} from {from} to {to}: {reason}")?;
        match &self.source {
            Some(source) => write!(f, "{source}"),
            None => Ok(()),
        }
    }
}

impl StdError for ConversionError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Whether two texts are equal, at compile time.
pub(super) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
