use serde_json::Value;

/// Who writes, and how strictly.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// Owner of the fields that change.
    pub(crate) manager: String,
    /// Take fields that others own.
    pub(crate) force: bool,
    /// Answer as if, and write nothing.
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// The paths of names that stand in their object of the body more than once.
    pub(crate) duplicates: Vec<String>,
}

/// What happens to fields the schema does not know, and to those that are given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// The same, with a warning each.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// What becomes of the objects that an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They stay, without the owner reference.
    Orphan,
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    /// The deprecated form of `propagation`.
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// An object as a write left it.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// In the version of the request.
    pub(crate) object: Value,
    /// It was not there before.
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}
