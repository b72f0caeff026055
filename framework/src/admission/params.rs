use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Which objects are the parameters of a rule.
///
/// The API server keeps them in a cache of its own, so a change takes effect a moment later. The user needs no access to them.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Params {
    pub(super) name: Option<String>,
    pub(super) labels: LabelSelector,
    pub(super) namespace: Option<String>,
    pub(super) is_optional: bool,
}

impl Params {
    /// The object of this name. If its kind is namespaced, it is in the namespace of the object that is admitted, so that each namespace has
    /// its own, unless [`in_namespace`](Self::in_namespace) says otherwise.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            labels: LabelSelector::default(),
            namespace: None,
            is_optional: false,
        }
    }

    /// All objects with these labels, in the same namespace as [`named`](Self::named) says. The rule has to hold for each of them.
    pub fn labelled(labels: LabelSelector) -> Self {
        Self {
            name: None,
            labels,
            namespace: None,
            is_optional: false,
        }
    }

    /// Takes the objects of this namespace for all namespaces.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Lets requests pass if there is no such object: the rule does not count then. Without this, they are denied.
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }
}
