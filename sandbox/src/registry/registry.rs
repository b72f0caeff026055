use std::sync::Arc;

use super::ServedKind;

/// A snapshot of every kind served, built-in ones first, then those of CustomResourceDefinitions.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    kinds: Vec<Arc<ServedKind>>,
}

impl Registry {
    /// The kinds in the order in which discovery lists them.
    pub fn new(kinds: Vec<Arc<ServedKind>>) -> Self {
        Self { kinds }
    }

    /// Every kind.
    pub fn kinds(&self) -> &[Arc<ServedKind>] {
        &self.kinds
    }

    /// The kind behind a path, if it is served.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// The stored version of a kind.
    pub fn storage(&self, group: &str, plural: &str) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.plural == plural && kind.storage)
    }

    /// The kind that `apiVersion` and `kind` of an object name.
    pub fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|known| known.group == group && known.version == version && known.kind == kind)
    }

    /// Whether anything is served under this group and version.
    pub fn has_version(&self, group: &str, version: &str) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.group == group && kind.version == version)
    }
}
