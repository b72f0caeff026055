use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::registry::{Registry, ServedKind};

/// The names of all groups but the core group: built-in ones in their order, then those of CustomResourceDefinitions by
/// name.
pub(crate) fn group_names(registry: &Registry) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut custom: BTreeSet<&str> = BTreeSet::new();
    for kind in registry.kinds() {
        let name = kind.group.as_str();
        if name.is_empty() || names.contains(&name) {
            continue;
        }
        if kind.is_custom() {
            custom.insert(name);
        } else {
            names.push(name);
        }
    }
    custom.retain(|name| !names.contains(name));
    names.extend(custom);
    names
}

/// The versions of a group, the preferred one first.
pub(crate) fn versions<'a>(registry: &'a Registry, group: &str) -> Vec<&'a str> {
    let of_group = |kind: &&'a std::sync::Arc<ServedKind>| kind.group == group;
    let all: BTreeSet<&str> = registry
        .kinds()
        .iter()
        .filter(of_group)
        .map(|kind| kind.version.as_str())
        .collect();
    let mut all: Vec<&str> = all.into_iter().collect();
    all.sort_by_key(|version| Reverse(priority(version)));
    all
}

/// Stable versions come before betas and betas before alphas, higher numbers first. Everything else comes last in
/// alphabetical order.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    parse(version).map_or((0, 0, 0, Reverse(version)), |(stage, major, minor)| {
        (stage, major, minor, Reverse(""))
    })
}

fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    let (stage, minor) = if let Some(minor) = rest.strip_prefix("beta") {
        (2, minor)
    } else if let Some(minor) = rest.strip_prefix("alpha") {
        (1, minor)
    } else if rest.is_empty() {
        return Some((3, major, 0));
    } else {
        return None;
    };
    Some((stage, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_unknown_forms_last() {
        let mut all = [
            "foo1", "v1alpha1", "v1", "v10beta3", "v2", "v11", "bar", "v1beta2",
        ];
        all.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(
            all,
            [
                "v11", "v2", "v1", "v10beta3", "v1beta2", "v1alpha1", "bar", "foo1"
            ]
        );
    }
}
