use super::{AllNamespaces, Located, Reach};

/// Scope of kinds that live in a namespace.
pub use k8s_openapi::NamespaceResourceScope as Namespaced;

/// Scope of kinds that belong to the whole cluster.
pub use k8s_openapi::ClusterResourceScope as Cluster;

/// Where the objects of a kind live: [`Namespaced`] or [`Cluster`].
///
/// It is a type, so that a program which gives a namespace to a cluster-scoped kind does not compile.
pub trait Scope: Send + Sync + 'static + sealed::Sealed {
    /// Whether objects of this scope have a namespace.
    const NAMESPACED: bool;

    /// What can be done with all objects of the cluster at once: everything where a name says it
    /// all, only listing and watching where it takes a namespace too.
    type All: Reach;
}

impl Scope for Namespaced {
    const NAMESPACED: bool = true;
    type All = AllNamespaces;
}

impl Scope for Cluster {
    const NAMESPACED: bool = false;
    type All = Located;
}

/// Scope of kinds whose objects have a namespace.
#[diagnostic::on_unimplemented(
    message = "a cluster-scoped kind has no namespace",
    label = "this kind belongs to the whole cluster",
    note = "use `Api::all(&client)`, which reaches all of its objects, each by its name"
)]
pub trait HasNamespace: Scope {}

impl HasNamespace for Namespaced {}

/// Which owners a child may have: a cluster-scoped owner may own anything, a namespaced owner only
/// what lives in its own namespace.
///
/// The API server does not refuse the other combination; its garbage collector deletes such a
/// child instead (Kubernetes documentation, "Owners and dependents").
#[diagnostic::on_unimplemented(
    message = "a namespaced kind cannot own a cluster-scoped one",
    label = "this child is cluster-scoped, its owner is namespaced",
    note = "the garbage collector would delete the child: use `watches` with a mapping by label, or make the owner cluster-scoped with `#[resource(.., cluster)]`"
)]
pub trait CanOwn<Child: Scope>: Scope {}

impl CanOwn<Namespaced> for Namespaced {}
impl CanOwn<Namespaced> for Cluster {}
impl CanOwn<Cluster> for Cluster {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Namespaced {}
    impl Sealed for super::Cluster {}
}
