use std::{any::TypeId, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    cache::{Index, InformerGuard},
    controller::{
        caches::{IndexFunction, WiredCaches, index_id},
        environment::Environment,
        error::{Error, MissingLine},
    },
    resource::{ApiResource, Object},
};

/// An index before its controller starts, with any type of objects and values.
pub(crate) trait AnyDeclaredIndex: Send {
    fn resource(&self) -> &ApiResource;
    /// The type that the objects are read as.
    fn read_as(&self) -> TypeId;
    /// Whether it is the index of the same function.
    fn is(&self, function: TypeId, resource: &ApiResource) -> bool;
    /// The error if no other line of `wire` declares the kind.
    fn not_wired(&self) -> Error;
    /// Adds the index to the informer of its kind. The caller drops the returned guard when the kind is wired.
    fn connect(self: Box<Self>, environment: &Environment, caches: &WiredCaches) -> Box<dyn Send>;
    /// As [`connect`](Self::connect), on a cache without an informer.
    #[cfg(feature = "dev")]
    fn connect_without_informer(self: Box<Self>, caches: &WiredCaches);
}

/// The index of a function.
pub(crate) struct DeclaredIndex<C, F: IndexFunction<C>> {
    resource: ApiResource,
    /// Whether the kind is known at compile time.
    typed: bool,
    index: Index<C, F::Value>,
    function: PhantomData<fn() -> F>,
}

impl<C: Object, F: IndexFunction<C>> DeclaredIndex<C, F> {
    #[track_caller]
    pub(crate) fn new(resource: &ApiResource, typed: bool, function: F) -> Self {
        Self {
            resource: resource.clone(),
            typed,
            index: Index::by(move |object: &C| function.values(object)),
            function: PhantomData,
        }
    }
}

impl<C, F> AnyDeclaredIndex for DeclaredIndex<C, F>
where
    C: Object + Serialize + DeserializeOwned,
    F: IndexFunction<C>,
{
    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn read_as(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn is(&self, function: TypeId, resource: &ApiResource) -> bool {
        function == index_id::<F>() && self.resource == *resource
    }

    fn not_wired(&self) -> Error {
        match self.typed {
            true => Error::not_wired("index", &self.resource.kind, MissingLine::Reads),
            false => Error::not_wired_dynamic::<C>("index", &self.resource, MissingLine::Reads),
        }
    }

    fn connect(self: Box<Self>, environment: &Environment, caches: &WiredCaches) -> Box<dyn Send> {
        let informer: InformerGuard<C> = environment
            .informers
            .acquire(self.resource.clone(), environment.scope());
        let handle = informer.add_index(self.index);
        caches.insert_index::<C, F>(&self.resource, handle);
        Box::new(informer)
    }

    #[cfg(feature = "dev")]
    fn connect_without_informer(self: Box<Self>, caches: &WiredCaches) {
        if let Some(cache) = caches.get::<C>(&self.resource) {
            let handle = cache.add_index(self.index);
            caches.insert_index::<C, F>(&self.resource, handle);
        }
    }
}
