/// Scope of kinds that live in a namespace.
pub use k8s_openapi::NamespaceResourceScope as Namespaced;

/// Scope of kinds that belong to the whole cluster.
pub use k8s_openapi::ClusterResourceScope as Cluster;

/// Where the objects of a kind live: [`Namespaced`] or [`Cluster`].
///
/// The scope is a type, so a program that gives a namespace to a cluster-scoped kind does not compile.
pub trait Scope: Send + Sync + 'static + sealed::Sealed {
    /// Whether objects of this scope have a namespace.
    const NAMESPACED: bool;

    /// The reach of a handle on all objects of the kind in the cluster. A cluster-scoped kind allows every verb there,
    /// because a name identifies an object. A namespaced kind allows only list and watch.
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
    note = "use `Api::all(&client)`, which reaches each object by its name"
)]
pub trait HasNamespace: Scope {}

impl HasNamespace for Namespaced {}

/// Whether an owner of this scope may own a child of scope `Child`. A cluster-scoped owner may own anything. A namespaced
/// owner may own only objects in its own namespace.
///
/// The API server accepts a namespaced owner of a cluster-scoped child, but its garbage collector then deletes the child
/// (Kubernetes documentation, "Owners and dependents").
#[diagnostic::on_unimplemented(
    message = "a namespaced kind cannot own a cluster-scoped one",
    label = "this child is cluster-scoped, its owner is namespaced",
    note = "no owner reference can reach the child: declare `.watch(Owned::<Child>::new().detached())` and `.finalizer(\"example.com/name\")` in `wire`, and apply `Child::new(child).detached()`",
    note = "or make the owner cluster-scoped with `#[resource(.., cluster)]`"
)]
pub trait CanOwn<Child: Scope>: sealed::Sealed {}

impl CanOwn<Namespaced> for Namespaced {}
impl CanOwn<Namespaced> for Cluster {}
impl CanOwn<Cluster> for Cluster {}

/// Scope of an owner whose kind is known only at run time. The compiler cannot check what it may own, so the framework
/// checks it when the program runs: see [`Controller::dynamic`](crate::controller::Controller::dynamic).
#[derive(Clone, Copy, Debug)]
pub enum RuntimeScope {}

impl<Child: Scope> CanOwn<Child> for RuntimeScope {}

/// The objects that an [`Api`](crate::client::Api) reaches: [`Located`] or [`AllNamespaces`].
pub trait Reach: Send + Sync + 'static + sealed::Sealed {}

/// The objects of one namespace, or of a cluster-scoped kind. A name identifies an object.
#[derive(Clone, Copy, Debug)]
pub enum Located {}

/// The objects of a namespaced kind in all namespaces. Several may have the same name, so they can only be listed and
/// watched.
#[derive(Clone, Copy, Debug)]
pub enum AllNamespaces {}

/// A reach in which a name identifies one object.
#[diagnostic::on_unimplemented(
    message = "objects in all namespaces can only be listed and watched",
    label = "this verb needs a namespace",
    note = "`Api::all` of a namespaced kind reaches every namespace, where several objects may have the same name: use `Api::namespaced(&client, namespace)`"
)]
pub trait ByName: Reach {}

impl Reach for Located {}
impl Reach for AllNamespaces {}
impl ByName for Located {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Namespaced {}
    impl Sealed for super::Cluster {}
    impl Sealed for super::RuntimeScope {}
    impl Sealed for super::Located {}
    impl Sealed for super::AllNamespaces {}
}
