use std::sync::Arc;

use super::{ApiGroup, DiscoveryFailure, ServedKind};

/// What an API server serves, as of one moment.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// The core group first, then the others by the server's priority.
    pub(super) groups: Vec<ApiGroup>,
}

impl Discovery {
    /// The groups: the core group first, the others by the server's priority.
    pub fn groups(&self) -> &[ApiGroup] {
        &self.groups
    }

    /// The group of that name; `""` is the core group.
    pub fn group(&self, name: &str) -> Option<&ApiGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Each kind of each group once, in the best version that has it.
    pub fn preferred_kinds(&self) -> impl Iterator<Item = &Arc<ServedKind>> {
        self.groups.iter().flat_map(ApiGroup::preferred_kinds)
    }

    /// The kinds in a category, such as `all`, each in its best version.
    pub fn category<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<ServedKind>> {
        self.preferred_kinds()
            .filter(move |kind| kind.categories.iter().any(|known| known == name))
    }

    /// The versions that could not be read. All others can be used.
    pub fn failures(&self) -> impl Iterator<Item = DiscoveryFailure<'_>> {
        self.groups.iter().flat_map(ApiGroup::failures)
    }
}
