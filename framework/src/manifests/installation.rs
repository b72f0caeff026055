use std::collections::{BTreeMap, BTreeSet};

use crate::resource::{ObjectMeta, dns};

/// ClusterRoles that every cluster has. An operator of such a name would change them.
const BUILT_IN_ROLES: [&str; 4] = ["admin", "cluster-admin", "edit", "view"];

/// The longest suffix that is added to the name of an operator. An object's name has at most 63 bytes.
const LONGEST_NAME: usize = 63 - "-metrics-reader".len();

/// Where an operator is installed, and where it works.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installation {
    /// The name of the operator. All its objects have it, some with a suffix.
    pub name: String,
    /// The namespace of the operator's pods.
    pub namespace: String,
    /// The namespaces in which the operator works; an empty set means all.
    pub namespaces: BTreeSet<String>,
}

/// An operator has a name that its objects cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operator's objects cannot have its name `{name}`, which {problem}")]
#[non_exhaustive]
pub struct InvalidName {
    /// The name.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Installation {
    /// An operator that works in all namespaces, and whose pods are in `<name>-system`.
    ///
    /// # Errors
    /// [`InvalidName`] if the name cannot be that of a Service, if it is too long to get a suffix, or if every cluster has a
    /// ClusterRole of that name.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        let name = name.into();
        let problem = if let Err(rule) = dns::check_label(&name) {
            rule.to_owned()
        } else if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
            "has to begin with a letter".into()
        } else if name.len() > LONGEST_NAME {
            format!("has {} bytes, but {LONGEST_NAME} are the most", name.len())
        } else if BUILT_IN_ROLES.contains(&&*name) {
            "is that of a ClusterRole of every cluster".into()
        } else {
            return Ok(Self {
                namespace: own_namespace(&name),
                name,
                namespaces: BTreeSet::new(),
            });
        };
        Err(InvalidName { name, problem })
    }

    /// Sets the namespace of the operator's pods.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the namespaces in which the operator works. An empty list means all.
    #[must_use]
    pub fn works_in<S: AsRef<str>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        let names = namespaces.into_iter();
        self.namespaces = names.map(|name| name.as_ref().to_owned()).collect();
        self
    }

    /// Whether the namespace of the pods has the name that [`new`](Self::new) gives it, so that others have no reason to use it.
    pub(crate) fn is_in_own_namespace(&self) -> bool {
        self.namespace == own_namespace(&self.name) && !is_of_every_cluster(&self.namespace)
    }

    /// The labels of the operator's own pods, by which its Deployment and its Service select them.
    pub fn labels(&self) -> BTreeMap<String, String> {
        // Children of an operator often have its name in the first label.
        BTreeMap::from([
            ("app.kubernetes.io/name".into(), self.name.clone()),
            ("app.kubernetes.io/component".into(), "operator".into()),
        ])
    }

    /// The metadata of a cluster-scoped object. The name gets `suffix`.
    pub(super) fn global(&self, suffix: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(format!("{}{suffix}", self.name)),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        }
    }

    /// The metadata of an object in a namespace that is neither that of the pods nor one in which the operator works.
    pub(super) fn elsewhere(&self, namespace: &str) -> ObjectMeta {
        ObjectMeta {
            namespace: Some(namespace.to_owned()),
            ..self.global(&format!("-in-{namespace}"))
        }
    }

    /// The metadata of an object of the operator's name in a namespace.
    pub(super) fn within(&self, namespace: &str) -> ObjectMeta {
        ObjectMeta {
            namespace: Some(namespace.to_owned()),
            ..self.global("")
        }
    }
}

fn own_namespace(operator: &str) -> String {
    format!("{operator}-system")
}

/// Whether Kubernetes makes the namespace in every cluster.
pub(crate) fn is_of_every_cluster(namespace: &str) -> bool {
    namespace == "default" || namespace.starts_with("kube-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_objects_cannot_have_is_refused() {
        assert!(Installation::new("w").is_ok());
        assert!(Installation::new("w".repeat(LONGEST_NAME)).is_ok());
        for (name, problem) in [
            ("Web_Site".to_owned(), "has to be a DNS label"),
            ("web.site".to_owned(), "has to be a DNS label"),
            ("0web".to_owned(), "has to begin with a letter"),
            ("w".repeat(LONGEST_NAME + 1), "has 49 bytes"),
            ("view".to_owned(), "is that of a ClusterRole"),
        ] {
            let error = Installation::new(name).unwrap_err();
            assert!(error.problem.starts_with(problem), "{error}");
        }
    }

    #[test]
    fn only_the_namespace_that_has_the_operator_s_name_is_its_own() {
        let web = Installation::new("web").unwrap();
        assert!(web.is_in_own_namespace());
        for shared in ["prod", "default", "kube-system"] {
            assert!(!web.clone().in_namespace(shared).is_in_own_namespace());
        }
        assert!(!Installation::new("kube").unwrap().is_in_own_namespace());
    }
}
