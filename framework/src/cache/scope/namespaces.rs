use std::{
    collections::BTreeSet,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use tokio::sync::watch;

/// The namespaces that a cache reads.
///
/// Each namespace is listed and watched separately, so that a Role in each of them is enough; `All` needs a
/// ClusterRole. Cluster-scoped kinds have no namespaces: for them every value counts as `All`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// All namespaces, with one list and one watch.
    #[default]
    All,
    /// These namespaces. An empty set means no namespace at all; the setters of
    /// [`InformerScope`](super::InformerScope) never produce it.
    These(BTreeSet<String>),
    /// The namespaces that the set contains at any time.
    Following(NamespaceSet),
}

/// A set of namespaces that changes while caches follow it. Clones are handles of the same set.
///
/// When a namespace is added, its objects are listed and delivered as additions. When it is removed, its objects
/// leave the caches and are delivered as deletions (with `final_state_known: false`). An empty set means no
/// namespace, never all of them. Caches that follow the same set are the same cache; another set with the same names
/// is a different set.
///
/// ```
/// use pilothouse::cache::{InformerScope, NamespaceSet};
///
/// let teams = NamespaceSet::new(["red", "green"]);
/// let scope = InformerScope::all().following(&teams);
/// teams.insert("blue");
/// teams.remove("red");
/// assert_eq!(teams.names().into_iter().collect::<Vec<_>>(), ["blue", "green"]);
/// # drop(scope);
/// ```
#[derive(Clone)]
pub struct NamespaceSet {
    names: Arc<watch::Sender<BTreeSet<String>>>,
}

impl NamespaceSet {
    /// A set of these namespaces.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self {
            names: Arc::new(watch::Sender::new(names)),
        }
    }

    /// Adds a namespace. Returns whether it is new.
    pub fn insert(&self, name: impl Into<String>) -> bool {
        let name = name.into();
        self.names.send_if_modified(|names| names.insert(name))
    }

    /// Removes a namespace. Returns whether the set contained it.
    pub fn remove(&self, name: &str) -> bool {
        self.names.send_if_modified(|names| names.remove(name))
    }

    /// The namespaces that the set contains now.
    pub fn names(&self) -> BTreeSet<String> {
        self.names.borrow().clone()
    }
}

impl Namespaces {
    /// The namespaces as they are now; `None` means all namespaces.
    pub fn names(&self) -> Option<BTreeSet<String>> {
        match self {
            Self::All => None,
            Self::These(names) => Some(names.clone()),
            Self::Following(set) => Some(set.names()),
        }
    }

    /// Whether one list and one watch read all of them, at any time.
    pub(in crate::cache) fn are_one(&self) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.len() == 1,
            Self::Following(_) => false,
        }
    }

    /// Notifies about changes; `None` if there cannot be any.
    pub(in crate::cache) fn changes(&self) -> Option<watch::Receiver<BTreeSet<String>>> {
        match self {
            Self::All | Self::These(_) => None,
            Self::Following(set) => Some(set.names.subscribe()),
        }
    }
}

/// Equal if both are handles of the same set; equal names are not enough.
impl PartialEq for NamespaceSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names)
    }
}

impl Eq for NamespaceSet {}

impl Hash for NamespaceSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.names).hash(state);
    }
}

impl fmt::Debug for NamespaceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&*self.names.borrow()).finish()
    }
}
