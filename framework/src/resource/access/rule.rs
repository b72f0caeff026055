use super::{AccessScope, Permission};
use crate::resource::{ApiResource, Resource};

/// Verbs on a resource, as one line of code asks for them.
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
    /// `verbs` on a kind: in the operator's namespaces, or everywhere if the kind is cluster-scoped.
    pub fn of<K: Resource>(verbs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of_resource(&ApiResource::of::<K>(), verbs)
    }

    /// As [`of`](Self::of), for a kind that is a value.
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

    /// `verbs` on a resource, named by its group (`""` is the core group) and plural, in the operator's
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

    /// On this subresource instead of the objects themselves.
    pub fn subresource(mut self, subresource: &str) -> Self {
        let plural = self.resource.split('/').next().unwrap_or_default();
        self.resource = format!("{plural}/{subresource}");
        self
    }

    /// Only on the object of this name, and others so added. `create` cannot be limited so: the API
    /// server does not know the name yet when it decides.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// In all namespaces and for cluster-scoped objects, even of an operator that works in one namespace only.
    pub fn everywhere(mut self) -> Self {
        self.scope = AccessScope::Cluster;
        self
    }

    /// In this namespace only.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = AccessScope::Namespace(namespace.into());
        self
    }

    /// What it comes to.
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
