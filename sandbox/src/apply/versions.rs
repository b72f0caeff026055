use serde_json::Value;

use super::managers::Entry;
use super::options::ApplyOptions;
use super::typed::Typed;
use crate::schema::Schema;

/// The other version of a kind that is served in two versions. Its managers own other fields.
#[derive(Clone, Debug)]
pub struct OtherVersion {
    /// `group/version`.
    pub api_version: String,
    /// The schema of the version.
    pub schema: Schema,
    /// Converts an object of the request's version.
    pub convert: fn(&Value) -> Value,
    /// Converts an object to the request's version.
    pub convert_back: fn(&Value) -> Value,
}

/// The versions in which managers own fields of an object.
#[derive(Clone, Copy)]
pub(super) struct Versions<'a> {
    /// The version of the request.
    pub(super) own: Typed<'a>,
    other: Option<&'a OtherVersion>,
}

/// An object in one of the versions.
#[derive(Clone, Copy)]
pub(super) struct Version<'a> {
    pub(super) typed: Typed<'a>,
    other: Option<&'a OtherVersion>,
}

impl<'a> Versions<'a> {
    pub(super) fn new(schema: &'a Schema, options: &'a ApplyOptions) -> Self {
        Self {
            own: Typed::root(schema),
            other: options.other_version.as_ref(),
        }
    }

    /// The version of a manager's fields. One that nobody knows counts as the request's.
    pub(super) fn of(self, entry: &Entry) -> Version<'a> {
        match self.other.filter(|_| self.is_other(entry)) {
            Some(other) => Version {
                typed: Typed::root(&other.schema),
                other: Some(other),
            },
            None => Version {
                typed: self.own,
                other: None,
            },
        }
    }

    /// Whether the fields of a manager are those of the other version.
    pub(super) fn is_other(self, entry: &Entry) -> bool {
        self.other
            .is_some_and(|other| other.api_version == entry.api_version)
    }
}

impl Version<'_> {
    /// An object of the request's version in this one.
    pub(super) fn convert(self, object: &Value) -> Value {
        match self.other {
            Some(other) => (other.convert)(object),
            None => object.clone(),
        }
    }

    /// An object of this version in the request's.
    pub(super) fn convert_back(self, object: &Value) -> Value {
        match self.other {
            Some(other) => (other.convert_back)(object),
            None => object.clone(),
        }
    }
}
