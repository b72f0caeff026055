use std::{any::TypeId, hash::Hash};

/// The function of an [index](crate::controller::Controller::index): from an object of kind `C` to the values that the object is
/// found by.
///
/// Every `fn(&C)` that returns an `Option`, a `Vec` or anything else that can be iterated is one. The function itself is the
/// name of the index: `wire` declares the index with it, and `reconcile`, mappings and predicates query the index with it.
/// A closure that captures values has no name, and does not compile here.
///
/// ```
/// use pilothouse::k8s::api::core::v1::Pod;
/// use pilothouse::resource::{Object, ObjectKey};
///
/// /// The node of a Pod.
/// fn node(pod: &Pod) -> Option<String> {
///     pod.spec.as_ref()?.node_name.clone()
/// }
///
/// /// The Secrets from which a Pod pulls its images, with their namespace.
/// fn pull_secrets(pod: &Pod) -> Vec<ObjectKey> {
///     let secrets = pod.spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
///     secrets.map(|secret| ObjectKey::new(pod.namespace(), &secret.name)).collect()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the function of an index of `{C}`",
    label = "not a function from `&{C}` to values",
    note = "write `fn name(object: &{C}) -> Option<String>` and pass `name`; the values may be of any type that is `Hash + Eq + Clone`, and do not borrow from the object"
)]
pub trait IndexFunction<C>: Copy + Send + Sync + 'static {
    /// The type of the values.
    type Value: Hash + Eq + Clone + Send + Sync + 'static;

    /// The values of the object.
    fn values(&self, object: &C) -> Vec<Self::Value>;
}

impl<C, I, F> IndexFunction<C> for F
where
    F: Fn(&C) -> I + Copy + Send + Sync + 'static,
    I: IntoIterator<Item: Hash + Eq + Clone + Send + Sync + 'static>,
{
    type Value = I::Item;

    fn values(&self, object: &C) -> Vec<I::Item> {
        self(object).into_iter().collect()
    }
}

/// What tells the index of a function from others: each function has a type of its own.
pub(crate) fn index_id<F: 'static>() -> TypeId {
    const {
        assert!(
            size_of::<F>() == 0,
            "an index is known by its function: pass the name of a `fn`, not a pointer to one or a closure that captures values"
        );
    }
    TypeId::of::<F>()
}

/// The function as a program names it, such as `secrets` or `Website::secrets`.
pub(crate) fn index_name<F>() -> String {
    let path = std::any::type_name::<F>();
    let path = path.split('<').next().unwrap_or(path);
    let mut parts = path.rsplit("::");
    let name = parts.next().unwrap_or(path);
    let is_type = |part: &&str| part.starts_with(char::is_uppercase);
    match parts.next().filter(is_type) {
        Some(of) => format!("{of}::{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Site;

    impl Site {
        fn secrets(_: &Self) -> Option<String> {
            None
        }
    }

    fn secrets(_: &Site) -> Option<String> {
        None
    }

    fn name<C, F: IndexFunction<C>>(_: F) -> (String, TypeId) {
        (index_name::<F>(), index_id::<F>())
    }

    #[test]
    fn each_function_is_an_index_of_its_own_and_is_named_as_in_the_program() {
        let (plain, of_type) = (name(secrets), name(Site::secrets));
        assert_eq!((&*plain.0, &*of_type.0), ("secrets", "Site::secrets"));
        assert_ne!(plain.1, of_type.1);
        assert_eq!(plain, name(secrets));
    }
}
