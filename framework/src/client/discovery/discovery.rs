use std::{collections::HashSet, sync::Arc};

use super::{DiscoveryFailure, Problem, ServedKind};

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

/// A group of kinds, such as `apps`.
#[derive(Clone, Debug)]
pub struct ApiGroup {
    pub(super) name: String,
    /// The server's preferred version first.
    pub(super) versions: Vec<ApiVersion>,
}

impl ApiGroup {
    /// Its name; `""` is the core group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its versions, best first: in the server's order of preference, but versions with a
    /// [`problem`](ApiVersion::problem) after the others.
    pub fn versions(&self) -> impl Iterator<Item = &ApiVersion> {
        let broken = |version: &&ApiVersion| version.problem.is_some();
        let sound = self.versions.iter().filter(move |version| !broken(version));
        sound.chain(self.versions.iter().filter(broken))
    }

    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<&ApiVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version to use if none is named.
    pub fn preferred_version(&self) -> Option<&ApiVersion> {
        self.versions().next()
    }

    /// Each kind once, in the best version that has it.
    pub fn preferred_kinds(&self) -> impl Iterator<Item = &Arc<ServedKind>> {
        let mut seen = HashSet::new();
        self.versions()
            .flat_map(ApiVersion::kinds)
            .filter(move |kind| seen.insert(&*kind.resource.plural))
    }

    /// The versions whose kinds could not be read.
    pub fn failures(&self) -> impl Iterator<Item = DiscoveryFailure<'_>> {
        self.versions.iter().filter_map(|version| {
            Some(DiscoveryFailure {
                group: &self.name,
                version: &version.name,
                problem: version.problem.as_ref()?,
            })
        })
    }
}

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
