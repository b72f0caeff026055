use std::sync::Arc;

use super::{Problem, ServedKind};

/// The kinds of one version of a group.
#[derive(Clone, Debug)]
pub struct ApiVersion {
    pub(super) name: String,
    pub(super) kinds: Vec<Arc<ServedKind>>,
    pub(super) problem: Option<Problem>,
}

impl ApiVersion {
    /// Its name, such as `v1beta1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its kinds, in the server's order. With a [`problem`](Self::problem), the last known kinds, or none.
    pub fn kinds(&self) -> &[Arc<ServedKind>] {
        &self.kinds
    }

    /// The kind of that plural name.
    pub fn resource(&self, plural: &str) -> Option<&Arc<ServedKind>> {
        let mut kinds = self.kinds.iter();
        kinds.find(|kind| kind.resource.plural == plural)
    }

    /// Why its kinds are unknown, or may be out of date.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }
}
