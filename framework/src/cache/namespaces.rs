use std::{
    collections::BTreeSet,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use tokio::sync::watch;

/// The namespaces that a cache reads.
///
/// Each is listed and watched by itself, so that roles in these namespaces are enough; all of them
/// together need a cluster role. Cluster-scoped kinds have no namespaces: there it counts as `All`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// All there are, with one list and one watch.
    #[default]
    All,
    /// These. None of them is none at all, which [`InformerScope`](super::InformerScope)'s setters
    /// never make.
    These(BTreeSet<String>),
    /// Those that are in the set at any time.
    Following(NamespaceSet),
}

/// Namespaces that come and go while caches follow them; cloning gives another handle to the
/// same set.
///
/// When a namespace is added, its objects are listed and told as additions; when it is removed, they
/// leave the caches as deletions (with `final_state_known: false`). An empty set
/// is no namespace, never all of them. Caches that follow the same set are the same; another set with
/// the same names is another one.
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
    /// A set of these.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self {
            names: Arc::new(watch::Sender::new(names)),
        }
    }

    /// Adds a namespace; answers whether it is new.
    pub fn insert(&self, name: impl Into<String>) -> bool {
        let name = name.into();
        self.names.send_if_modified(|names| names.insert(name))
    }

    /// Removes a namespace; answers whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.names.send_if_modified(|names| names.remove(name))
    }

    /// The namespaces as they are now.
    pub fn names(&self) -> BTreeSet<String> {
        self.names.borrow().clone()
    }
}

impl Namespaces {
    /// The namespaces as they are now; `None` for all of them.
    pub fn names(&self) -> Option<BTreeSet<String>> {
        match self {
            Self::All => None,
            Self::These(names) => Some(names.clone()),
            Self::Following(set) => Some(set.names()),
        }
    }

    /// What tells of changes, if there can be any.
    pub(super) fn changes(&self) -> Option<watch::Receiver<BTreeSet<String>>> {
        match self {
            Self::All | Self::These(_) => None,
            Self::Following(set) => Some(set.names.subscribe()),
        }
    }
}

/// The same set, not only the same names.
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
