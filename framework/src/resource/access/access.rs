use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    iter::Sum,
};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{AccessRule, AccessScope, Permission};

/// The access that a part of a program needs: a set of [`Permission`]s.
///
/// Each layer declares what it needs. Their sum is what the program needs, and the RBAC roles are written from it.
///
/// A set drops each permission that another one in it covers. So the order in which permissions are added makes no
/// difference: the same permissions give equal sets.
///
/// ```
/// use pilothouse::{k8s::api::core::v1::ConfigMap, resource::{Access, AccessRule}};
///
/// let reads = Access::from(AccessRule::of::<ConfigMap>(["get", "list", "watch"]));
/// let all = reads.clone().and(AccessRule::of::<ConfigMap>(["delete"]));
/// assert!(all.covers(&reads) && !reads.covers(&all));
/// assert_eq!(all.to_string(), "configmaps: delete, get, list, watch");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    permissions: BTreeSet<Permission>,
}

impl Access {
    /// An empty set.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds `more` to the set.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.add_all(more.into());
        self
    }

    pub(crate) fn and_all(mut self, more: &Self) -> Self {
        self.extend(more.iter().cloned());
        self
    }

    fn add(&mut self, permission: Permission) {
        if !self.permits(&permission) {
            self.permissions.retain(|mine| !permission.covers(mine));
            self.permissions.insert(permission);
        }
    }

    fn add_all(&mut self, more: Self) {
        self.extend(more.permissions);
    }

    /// Whether this set allows everything that `other` allows.
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|permission| self.permits(permission))
    }

    /// Whether this set allows `permission`.
    pub fn permits(&self, permission: &Permission) -> bool {
        self.iter().any(|mine| mine.covers(permission))
    }

    /// Whether the set has no permission.
    pub fn is_empty(&self) -> bool {
        self.permissions.is_empty()
    }

    /// The permissions, sorted by scope, group, resource, name and verb.
    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.permissions.iter()
    }

    /// The rules of one role, for the permissions whose scope `is_in_role` accepts.
    ///
    /// There are as few rules as possible: one rule has all verbs of a resource, and all resources of a group that have
    /// the same verbs.
    pub fn policy_rules(&self, is_in_role: impl Fn(&AccessScope) -> bool) -> Vec<PolicyRule> {
        // Three maps, from fine to coarse. Each merges the entries of the one before that differ in one respect only:
        // the verb, the object's name, the resource.
        let mut verbs: BTreeMap<(&str, &str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
        for one in self.iter().filter(|one| is_in_role(&one.scope)) {
            let place = (&*one.group, &*one.resource, one.name.as_deref());
            verbs.entry(place).or_default().insert(&one.verb);
        }
        let mut names: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for ((group, resource, name), verbs) in verbs {
            let limited = name.is_some();
            let names = names.entry((group, resource, limited, verbs)).or_default();
            names.extend(name);
        }
        let mut resources: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for ((group, resource, _, verbs), names) in names {
            let resources = resources.entry((group, verbs, names)).or_default();
            resources.insert(resource);
        }
        let strings = |set: BTreeSet<&str>| set.into_iter().map(str::to_owned).collect();
        let mut rules: Vec<PolicyRule> = resources
            .into_iter()
            .map(|((group, verbs, names), resources)| PolicyRule {
                api_groups: Some(vec![group.to_owned()]),
                resources: Some(strings(resources)),
                resource_names: Some(strings(names)).filter(|names: &Vec<_>| !names.is_empty()),
                verbs: strings(verbs),
                non_resource_urls: None,
            })
            .collect();
        rules.sort_by(|one, other| {
            (&one.api_groups, &one.resources, &one.resource_names).cmp(&(
                &other.api_groups,
                &other.resources,
                &other.resource_names,
            ))
        });
        rules
    }
}

/// Drops what another permission covers.
impl Extend<Permission> for Access {
    fn extend<I: IntoIterator<Item = Permission>>(&mut self, permissions: I) {
        permissions
            .into_iter()
            .for_each(|permission| self.add(permission));
    }
}

impl FromIterator<Permission> for Access {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        let mut access = Self::none();
        access.extend(permissions);
        access
    }
}

impl From<AccessRule> for Access {
    fn from(rule: AccessRule) -> Self {
        rule.permissions().collect()
    }
}

/// The union of all sets.
impl Sum for Access {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::none(), Self::and)
    }
}

/// Verbs by resource: `configmaps: get, list; deployments.apps: delete`.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = None;
        for one in self.iter() {
            let place = Permission {
                verb: String::new(),
                ..one.clone()
            };
            if last.as_ref() == Some(&place) {
                write!(f, ", {}", one.verb)?;
                continue;
            }
            if last.is_some() {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", place.to_string().trim_start(), one.verb)?;
            last = Some(place);
        }
        Ok(())
    }
}
