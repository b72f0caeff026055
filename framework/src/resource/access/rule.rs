use super::{AccessScope, Permission};
use crate::resource::{ApiResource, Resource};

/// Verbs on a resource, for one line of code: it becomes a [`Permission`] for each verb and name.
///
/// ```
/// use pilothouse::{k8s::api::{apps::v1::Deployment, core::v1::Secret}, resource::AccessRule};
///
/// let scale = AccessRule::of::<Deployment>(["get", "patch"]).subresource("scale");
/// let key = AccessRule::of::<Secret>(["get"]).in_namespace("vault").named("key");
/// let reviews = AccessRule::new("authentication.k8s.io", "tokenreviews", ["create"]).everywhere();
/// # let _ = (scale, key, reviews);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct AccessRule {
    scope: AccessScope,
    group: String,
    resource: String,
    names: Vec<String>,
    verbs: Vec<String>,
}

impl AccessRule {
    /// A rule for `verbs` on the kind `K`: in the operator's namespaces, or everywhere if the kind is cluster-scoped.
    pub fn of<K: Resource>(verbs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of_resource(&ApiResource::of::<K>(), verbs)
    }

    /// As [`of`](Self::of), for a kind known only at run time.
    pub fn of_resource(
        resource: &ApiResource,
        verbs: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let rule = Self::new(&*resource.group, &*resource.plural, verbs);
        if resource.namespaced {
            rule
        } else {
            rule.everywhere()
        }
    }

    /// A rule for `verbs` on a resource, named by its group (`""` is the core group) and its plural, in the operator's
    /// namespaces.
    pub fn new(
        group: impl Into<String>,
        resource: impl Into<String>,
        verbs: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            scope: AccessScope::Operator,
            group: group.into(),
            resource: resource.into(),
            names: Vec::new(),
            verbs: verbs.into_iter().map(Into::into).collect(),
        }
    }

    /// Makes the rule one for this subresource instead of the objects.
    pub fn subresource(mut self, subresource: &str) -> Self {
        let plural = self.resource.split('/').next().unwrap_or_default();
        self.resource = format!("{plural}/{subresource}");
        self
    }

    /// Limits the rule to the object of this name. Each further call adds a name.
    ///
    /// RBAC cannot limit `create` in this way: the API server does not know the name yet when it decides.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Extends the rule to all namespaces and to cluster-scoped objects, also if the operator works in one namespace only.
    pub fn everywhere(mut self) -> Self {
        self.scope = AccessScope::Cluster;
        self
    }

    /// Limits the rule to one namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = AccessScope::Namespace(namespace.into());
        self
    }

    /// One permission for each verb and each name.
    pub fn permissions(&self) -> impl Iterator<Item = Permission> {
        let names: Vec<Option<String>> = if self.names.is_empty() {
            vec![None]
        } else {
            self.names.iter().cloned().map(Some).collect()
        };
        names.into_iter().flat_map(move |name| {
            self.verbs.iter().map(move |verb| Permission {
                scope: self.scope.clone(),
                group: self.group.clone(),
                resource: self.resource.clone(),
                name: name.clone(),
                verb: verb.clone(),
            })
        })
    }
}
