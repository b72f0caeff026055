use std::{borrow::Cow, sync::Arc};

use crate::{
    client,
    resource::{ApiResource, ObjectKey, OwnerError, Undecodable},
};

/// Why something asked of a [`Context`](super::Context) was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kind is not named in `wire`, so there is no cache of it.
    #[error("{verb} {kind}: `wire` does not name this kind: add `.{line}::<{kind}>()` there")]
    NotWired {
        /// What was tried.
        verb: &'static str,
        /// The kind.
        kind: &'static str,
        /// The method to add.
        line: &'static str,
    },
    /// The kind, known only at run time, is not named in `wire`, or not read as this type.
    #[error(
        "{verb} {resource}: `wire` does not name this kind, read as {read_as}: add `.{line}::<{read_as}>(..)` there, with its `ApiResource`"
    )]
    NotWiredOf {
        /// What was tried.
        verb: &'static str,
        /// The method to add.
        line: &'static str,
        /// The kind.
        resource: Box<ApiResource>,
        /// The type that its objects were to be read as.
        read_as: &'static str,
    },
    /// The object is in the cache, but does not fit its Rust type.
    #[error("get {0}")]
    Undecodable(Arc<Undecodable>),
    /// No namespace is given, and there is none to assume.
    #[error(
        "{verb} {kind} {name}: give it a namespace: the reconciled object is cluster-scoped and has none to lend"
    )]
    NoNamespace {
        /// What was tried.
        verb: &'static str,
        /// The kind.
        kind: Cow<'static, str>,
        /// The object's name.
        name: String,
    },
    /// A child has no name; server-side apply cannot generate one.
    #[error("apply {kind}: the object has no name: set `metadata.name`")]
    NoName {
        /// Kind of the child.
        kind: Cow<'static, str>,
    },
    /// A child is in another namespace than its owner.
    #[error(
        "{verb} {kind} {child}: it is not in the namespace of its owner {owner}, where alone it can be owned: leave its namespace empty, or use `apply_detached`"
    )]
    OtherNamespace {
        /// What was tried.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The owner.
        owner: ObjectKey,
    },
    /// A child is cluster-scoped and its owner is not, which is not known before its kind is.
    #[error(
        "{verb} {kind} {child}: it is cluster-scoped and its owner {owner} is not, so that no owner reference reaches it: use `apply_detached_of`, and add `.owns_detached_of(..)` to `wire`"
    )]
    OtherScope {
        /// What was tried.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The owner.
        owner: ObjectKey,
    },
    /// A controller says that it owns a kind that its own cannot own.
    #[error(
        "owns_of {resource}: it is cluster-scoped and {owner} is not, so that no owner reference reaches it: use `owns_detached_of` in `wire`, and `apply_detached_of`"
    )]
    CannotOwn {
        /// The reconciled kind.
        owner: &'static str,
        /// The kind that was to be owned.
        resource: Box<ApiResource>,
    },
    /// A child says that it is of another kind than the one it is to be written as.
    #[error(
        "{verb} {kind} {child}: it says that it is {found}: give it with the `ApiResource` of its own kind"
    )]
    OtherKind {
        /// What was tried.
        verb: &'static str,
        /// The kind it was to be.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The kind that it says.
        found: String,
    },
    /// An object belongs to somebody else, and is not taken over.
    #[error(
        "{verb} {kind} {child}: it belongs to {owner}: give yours another name, or release it there first"
    )]
    OwnedByAnother {
        /// What was tried.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// Kind and name of its owner.
        owner: String,
    },
    /// What is being deleted is not adopted, and adopts nothing.
    #[error("{verb}: {kind} {key} is being deleted")]
    BeingDeleted {
        /// What was tried.
        verb: &'static str,
        /// The kind of what goes.
        kind: &'static str,
        /// What goes.
        key: ObjectKey,
    },
    /// An object is to be changed only as it was seen, and it was never read.
    #[error(
        "{verb} {kind} {key}: it has no UID or no resource version: give the object as it was read, not one that is written by hand"
    )]
    NotRead {
        /// What was tried.
        verb: &'static str,
        /// Kind of the object.
        kind: &'static str,
        /// The object.
        key: ObjectKey,
    },
    /// Nothing would delete a detached child.
    #[error(
        "apply_detached {kind} {child}: no owner reference reaches it, so it has to be deleted by a finalizer: implement `Cleanup`, and add `.finalizer(\"{finalizer}\")` to `wire`"
    )]
    NoFinalizer {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// A name that would do.
        finalizer: String,
    },
    /// The operator looks at one namespace only, and the child is in another one.
    #[error(
        "apply_detached {kind} {child}: the operator watches only {watched}, and would never find it again: let it watch that namespace, too, or all of them"
    )]
    NotWatched {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The namespaces that are watched.
        watched: String,
    },
    /// The reconciled object is gone: nothing can be written for it.
    #[error("{verb}: {kind} {key} is gone")]
    Gone {
        /// What was tried.
        verb: &'static str,
        /// Kind of the reconciled object.
        kind: &'static str,
        /// The reconciled object.
        key: ObjectKey,
    },
    /// The owner reference cannot be set.
    #[error("apply {kind}: {source}")]
    Owner {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// Why.
        source: OwnerError,
    },
    /// What is to be written cannot be made into JSON.
    #[error("{verb} {target}: cannot be written as JSON: {source}")]
    Serialize {
        /// What was tried.
        verb: &'static str,
        /// On what.
        target: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The request failed.
    #[error(transparent)]
    Client(#[from] client::Error),
}

impl Error {
    /// The client's error, if a request failed.
    pub fn client(&self) -> Option<&client::Error> {
        match self {
            Self::Client(error) => Some(error),
            _ => None,
        }
    }

    pub(super) fn not_wired_of<C>(
        verb: &'static str,
        resource: &ApiResource,
        line: &'static str,
    ) -> Self {
        let path = std::any::type_name::<C>();
        // `PartialObject<..>` of whatever is no less clear without the module it is in.
        let path = path.split('<').next().unwrap_or(path);
        Self::NotWiredOf {
            verb,
            line,
            resource: Box::new(resource.clone()),
            read_as: path.rsplit("::").next().unwrap_or(path),
        }
    }

    pub(super) fn serialize(
        verb: &'static str,
        resource: &ApiResource,
        key: &ObjectKey,
        source: serde_json::Error,
    ) -> Self {
        Self::Serialize {
            verb,
            target: format!("{} {key}", resource.kind),
            source,
        }
    }
}
