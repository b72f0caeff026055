/// How far a handle on the objects of a kind reaches: [`Located`] or [`AllNamespaces`].
pub trait Reach: Send + Sync + 'static + sealed::Sealed {}

/// A name is enough to tell one object: the objects of one namespace, or of a cluster-scoped kind.
#[derive(Clone, Copy, Debug)]
pub enum Located {}

/// The objects of a namespaced kind in all namespaces: many may bear one name, so they can only be
/// listed and watched.
#[derive(Clone, Copy, Debug)]
pub enum AllNamespaces {}

/// A reach in which a name is enough to tell one object.
#[diagnostic::on_unimplemented(
    message = "across all namespaces objects can only be listed and watched",
    label = "this needs to know the namespace",
    note = "`Api::all` of a namespaced kind reaches every namespace, where a name may stand for many objects: use `Api::namespaced(&client, namespace)`"
)]
pub trait ByName: Reach {}

impl Reach for Located {}
impl Reach for AllNamespaces {}
impl ByName for Located {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Located {}
    impl Sealed for super::AllNamespaces {}
}
