use std::{borrow::Cow, sync::Arc};

use crate::{
    client,
    resource::{ApiResource, ObjectKey, OwnerError, Undecodable},
};

/// Why a method of [`Context`](crate::controller::Context) failed, or why a controller cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `wire` does not declare the kind, or not as this Rust type: the controller has no cache for it.
    #[error("{verb} {kind}: `wire` does not declare this kind: add `{line}` there")]
    NotWired {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The kind. If it is known only at run time, with group and version.
        kind: String,
        /// The line to add, such as `.reads::<Secret>()`.
        line: String,
    },
    /// `wire` does not declare the index.
    #[error("{verb} {kind} by `{index}`: `wire` does not declare this index: add `{line}` there")]
    NotIndexed {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The kind. If it is known only at run time, with group and version.
        kind: String,
        /// The function of the index.
        index: String,
        /// The line to add, such as `.index(secrets)`.
        line: String,
    },
    /// The object is in the cache, but does not fit its Rust type. A call that ends with this error [waits](super::Failure::waiting)
    /// until somebody mends the object: it is no failure, and the next call comes within 30 s.
    #[error("get {0}")]
    Undecodable(Arc<Undecodable>),
    /// The object has no namespace, and the reconciled object is cluster-scoped.
    #[error(
        "{verb} {kind} {name}: the object has no namespace, and the reconciled object is cluster-scoped: set `metadata.namespace`"
    )]
    NoNamespace {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The kind.
        kind: Cow<'static, str>,
        /// The object's name.
        name: String,
    },
    /// A child has no name, and server-side apply cannot generate one.
    #[error("apply {kind}: the object has no name: set `metadata.name`")]
    NoName {
        /// Kind of the child.
        kind: Cow<'static, str>,
    },
    /// A child is in another namespace than its owner.
    #[error(
        "{verb} {kind} {child}: the child is not in the namespace of its owner {owner}, so no owner reference can reach it: leave `metadata.namespace` empty, or apply `Child::new(..).detached()`, and declare `.watch(Owned::<{kind}>::new().detached())` and a finalizer in `wire`"
    )]
    OtherNamespace {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The owner.
        owner: ObjectKey,
    },
    /// A child is cluster-scoped, and its owner is namespaced. At least one of the two kinds is known only at run time.
    #[error(
        "{verb} {kind} {child}: the child is cluster-scoped and its owner {owner} is namespaced, so no owner reference can reach it: apply `Child::dynamic(..).detached()`, and declare `.watch(Owned::<..>::dynamic(..).detached())` and a finalizer in `wire`"
    )]
    OtherScope {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The owner.
        owner: ObjectKey,
    },
    /// `wire` declares an owned kind that the reconciled kind cannot own.
    #[error(
        "own {resource}: it is cluster-scoped and {owner} is namespaced, so no owner reference can reach it: declare `.watch(Owned::<..>::dynamic(..).detached())` and a finalizer in `wire`, and apply `Child::dynamic(..).detached()`"
    )]
    CannotOwn {
        /// The reconciled kind.
        owner: Cow<'static, str>,
        /// The kind that was declared as owned.
        resource: Box<ApiResource>,
    },
    /// `wire` declares a finalizer whose name the API server would refuse, or one finalizer twice.
    #[error(
        "the finalizer `{name}` {problem}: write it in `wire` like `.finalizer(\"{example}\")`"
    )]
    FinalizerName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
        /// A valid name.
        example: String,
    },
    /// The name of the controller cannot be used in metrics, logs and Events.
    #[error(
        "the name of the controller, `{name}`, {problem}: write it in `wire` like `.named(\"{example}\")`"
    )]
    ControllerName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
        /// A valid name.
        example: String,
    },
    /// `apiVersion` or `kind` of a child name another kind than its `ApiResource`.
    #[error(
        "{verb} {kind} {child}: the object names another kind, {found}: pass the `ApiResource` of that kind, or leave `apiVersion` and `kind` empty"
    )]
    OtherKind {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The kind of the `ApiResource`.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The kind that the object names.
        found: String,
    },
    /// Another object owns the child. It is not taken over.
    #[error(
        "{verb} {kind} {child}: it belongs to {owner}: choose another name, or release it from its owner first"
    )]
    OwnedByAnother {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// Kind and name of its owner.
        owner: String,
    },
    /// An object of the child's name exists, and nothing shows that it is a child of the reconciled object. It is not taken
    /// over.
    #[error(
        "{verb} {kind} {child}: an object of this name exists and does not belong to {owner}: delete it, choose another name, or let the operator's code take it over with {adopt}"
    )]
    NotAdopted {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// Kind and key of the reconciled object.
        owner: String,
        /// The calls that take it over.
        adopt: &'static str,
    },
    /// An object that is being deleted is not adopted, and adopts no other object.
    #[error("{verb}: {kind} {key} is being deleted")]
    BeingDeleted {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the object that is being deleted.
        kind: Cow<'static, str>,
        /// The object that is being deleted.
        key: ObjectKey,
    },
    /// The change needs an object that was read, and the given object has no UID or no resource version.
    #[error(
        "{verb} {kind} {key}: the object has no UID or no resource version: pass an object that was read from the cache or the server"
    )]
    NotRead {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the object.
        kind: Cow<'static, str>,
        /// The object.
        key: ObjectKey,
    },
    /// `wire` declares no finalizer, so nothing would delete a detached child.
    #[error(
        "apply detached {kind} {child}: no owner reference reaches the child, so a finalizer has to delete it: implement `Cleanup`, and add `.finalizer(\"{finalizer}\")` to `wire`"
    )]
    NoFinalizer {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// A suitable name for the finalizer.
        finalizer: String,
    },
    /// `wire` declares finalizers, and the reconciled object gets none of them, so nothing would delete a detached child.
    #[error(
        "apply detached {kind} {child}: no owner reference reaches the child, so a finalizer has to delete it, and {owner} gets none: the condition of `.finalizer_when(..)` does not hold for it, or `.when(..)` leaves it out"
    )]
    FinalizerNotNeeded {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// Kind and key of the reconciled object.
        owner: String,
    },
    /// The child is in a namespace that the operator does not watch.
    #[error(
        "apply detached {kind} {child}: the operator watches only {watched} and could not find the child again: let it watch the child's namespace too, or all namespaces"
    )]
    NotWatched {
        /// Kind of the child.
        kind: Cow<'static, str>,
        /// The child.
        child: ObjectKey,
        /// The watched namespaces.
        watched: String,
    },
    /// The reconciled object is gone, so nothing can be written for it.
    #[error("{verb}: {kind} {key} is gone")]
    Gone {
        /// The verb of the method that failed.
        verb: &'static str,
        /// Kind of the reconciled object.
        kind: Cow<'static, str>,
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
    /// The object cannot be written as JSON.
    #[error("{verb} {target}: cannot be written as JSON: {source}")]
    Serialize {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The object.
        target: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The schema of the reconciled kind refuses the status. The request would fail again, so the reconcile is not retried before
    /// something changes.
    ///
    /// The API server compares the status with the CustomResourceDefinition that is installed. Usually a value breaks a bound or
    /// a rule, or an older definition is installed that lacks the field.
    #[error(
        "{source}: the schema of {kind} refuses the status in {fields}: correct the value, or install the CustomResourceDefinition of this program (its command `crd`) and request a reconcile with the annotation pilothouse.dev/reconcile-now"
    )]
    StatusRefused {
        /// The reconciled kind.
        kind: Cow<'static, str>,
        /// The reconciled object.
        key: ObjectKey,
        /// The paths of the wrong fields, such as `status.phase, status.replicas`.
        fields: String,
        /// The answer of the server.
        source: Box<client::Error>,
    },
    /// The object exists, but the server does not serve its status. Only another definition of the kind can change that.
    #[error(
        "{verb}: the API server has {kind} {key}, but no status of this kind: its CustomResourceDefinition has to have `subresources: {{status: {{}}}}` in this version"
    )]
    NoStatusSubresource {
        /// The verb of the method that failed.
        verb: &'static str,
        /// The reconciled kind.
        kind: Cow<'static, str>,
        /// The reconciled object.
        key: ObjectKey,
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
            Self::StatusRefused { source, .. } => Some(source),
            _ => None,
        }
    }

    /// `wire` lacks a declaration of `kind`, which is known at compile time.
    pub(crate) fn not_wired(verb: &'static str, kind: &str, missing: MissingLine) -> Self {
        Self::NotWired {
            verb,
            kind: kind.to_owned(),
            line: missing.typed(kind),
        }
    }

    /// `wire` lacks a declaration of a kind that is known only at run time and read as `C`.
    pub(crate) fn not_wired_dynamic<C>(
        verb: &'static str,
        resource: &ApiResource,
        missing: MissingLine,
    ) -> Self {
        let path = std::any::type_name::<C>();
        // The type parameters of `PartialObject<..>` would only make the text longer.
        let path = path.split('<').next().unwrap_or(path);
        Self::NotWired {
            verb,
            kind: resource.to_string(),
            line: missing.dynamic(path.rsplit("::").next().unwrap_or(path)),
        }
    }

    /// `wire` lacks the declaration of an index. `typed` tells whether the kind is known at compile time.
    pub(crate) fn not_indexed(
        verb: &'static str,
        resource: &ApiResource,
        index: &str,
        typed: bool,
    ) -> Self {
        let (kind, line) = match typed {
            true => (resource.kind.to_string(), format!(".index({index})")),
            false => (resource.to_string(), format!(".index_of(&.., {index})")),
        };
        Self::NotIndexed {
            verb,
            kind,
            index: index.to_owned(),
            line,
        }
    }

    /// Whether the request failed because the object was changed by another client, or because a precondition did not hold.
    pub(crate) fn is_conflict(&self) -> bool {
        self.client().is_some_and(client::Error::is_conflict)
    }

    pub(crate) fn serialize(
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

/// Which declaration of a kind `wire` lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MissingLine {
    Reads,
    Owns,
    OwnsDetached,
}

impl MissingLine {
    fn typed(self, kind: &str) -> String {
        match self {
            Self::Reads => format!(".reads::<{kind}>()"),
            Self::Owns => format!(".owns::<{kind}>()"),
            Self::OwnsDetached => format!(".watch(Owned::<{kind}>::new().detached())"),
        }
    }

    /// For a kind that is known only at run time and read as `read_as`.
    fn dynamic(self, read_as: &str) -> String {
        match self {
            Self::Reads => format!(".watch(Read::<{read_as}>::dynamic(..))"),
            Self::Owns => format!(".watch(Owned::<{read_as}>::dynamic(..))"),
            Self::OwnsDetached => format!(".watch(Owned::<{read_as}>::dynamic(..).detached())"),
        }
    }
}
