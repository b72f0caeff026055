use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    iter::Sum,
};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{AccessRule, AccessScope, Permission};

/// What a part of a program needs to be allowed to do: a set of [`Permission`]s.
///
/// Every layer says what it needs, the sum is what the program needs, and RBAC is written from it. What
/// another permission covers is not kept, so that two sets that allow the same in the same words are
/// equal, whatever order they were put together in.
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
    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// This and more.
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

    /// Whether whoever has this may do all that `other` says.
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|permission| self.permits(permission))
    }

    /// Whether whoever has this may do that.
    pub fn permits(&self, permission: &Permission) -> bool {
        self.iter().any(|mine| mine.covers(permission))
    }

    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.permissions.is_empty()
    }

    /// The permissions, in the order of scope, group, resource, name and verb.
    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.permissions.iter()
    }

    /// As the rules of one role: those permissions for which `wanted` says yes of their scope. What fits in
    /// one rule is in one: verbs of the same resource, resources of one group with the same verbs.
    pub fn policy_rules(&self, wanted: impl Fn(&AccessScope) -> bool) -> Vec<PolicyRule> {
        // Group, verbs, names to resources; each step merges what the one before left alike.
        let mut verbs: BTreeMap<(&str, &str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
        for one in self.iter().filter(|one| wanted(&one.scope)) {
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

/// What is covered is left out.
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

/// All of them together.
impl Sum for Access {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::none(), Self::and)
    }
}

/// One resource after the other: `configmaps: get, list; deployments.apps: delete`.
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
