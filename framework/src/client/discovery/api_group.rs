use std::{collections::HashSet, sync::Arc};

use super::{ApiVersion, DiscoveryFailure, ServedKind};

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
