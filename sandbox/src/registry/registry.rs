use std::sync::Arc;

use super::ServedKind;

/// A snapshot of every served kind: built-in kinds first, then those of CustomResourceDefinitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    kinds: Vec<Arc<ServedKind>>,
}

impl Registry {
    /// A registry of these kinds, in the order of discovery.
    pub(crate) fn new(kinds: Vec<Arc<ServedKind>>) -> Self {
        Self { kinds }
    }

    /// Every kind.
    pub(crate) fn kinds(&self) -> &[Arc<ServedKind>] {
        &self.kinds
    }

    /// The kind of a path. Returns `None` if it is not served.
    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// The stored version of a kind.
    pub(crate) fn storage(&self, group: &str, plural: &str) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|kind| kind.group == group && kind.plural == plural && kind.storage)
    }

    /// The kind that `apiVersion` and `kind` of an object name.
    pub(crate) fn find_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<&Arc<ServedKind>> {
        self.kinds
            .iter()
            .find(|known| known.group == group && known.version == version && known.kind == kind)
    }
}
