use std::borrow::Cow;

use super::Call;
use crate::{
    client::{Error, ErrorKind, request::url},
    resource::ApiResource,
};

/// What a [`RequestBuilder`](super::RequestBuilder)'s request is about: enough for its path and for the text of its error.
#[derive(Clone)]
pub(super) enum RequestSubject {
    Resource(Box<RequestedResource>),
    /// An absolute path, escaped.
    Path {
        verb: &'static str,
        path: String,
    },
}

/// A [`Call`] that owns its parts.
#[derive(Clone)]
pub(super) struct RequestedResource {
    pub(super) verb: &'static str,
    pub(super) resource: ApiResource,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl RequestedResource {
    pub(super) fn call(&self) -> Call<'_> {
        Call {
            verb: self.verb,
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            name: self.name.as_deref(),
            subresource: self.subresource.as_deref(),
            metadata_only: false,
            all_fields: false,
        }
    }

    /// The path of the request. Fails if a part is missing, too many, or not valid.
    fn path(&self) -> Result<String, Error> {
        let call = self.call();
        let (verb, kind) = (self.verb, &self.resource.kind);
        let wrong = match (verb, call.name, call.subresource) {
            ("get" | "update" | "patch" | "delete", None, _) => {
                Some(format!("`{verb}` is about one object: call `name`"))
            }
            ("create", Some(_), None) => {
                Some("the name of a new object is in its body: leave out `name`".to_owned())
            }
            ("create", None, Some(_)) => {
                Some("a subresource belongs to one object: call `name`".to_owned())
            }
            ("list" | "watch" | "deletecollection", Some(_), _) => Some(format!(
                "`{verb}` is about several objects: leave out `name`, or select one object by `.query(\"fieldSelector\", \"metadata.name=…\")`"
            )),
            ("list" | "watch" | "deletecollection", None, Some(_)) => Some(format!(
                "`{verb}` has no subresources: leave out `subresource`"
            )),
            _ => None,
        };
        let one_namespace = !matches!(verb, "list" | "watch");
        let wrong = wrong.or_else(|| match (self.resource.namespaced, call.namespace) {
            (true, None) if one_namespace => {
                Some(format!("{kind} is namespaced: call `namespace`"))
            }
            (false, Some(_)) => Some(format!("{kind} is cluster-scoped: leave out `namespace`")),
            _ => None,
        });
        match wrong {
            Some(wrong) => Err(call.invalid(wrong)),
            None => call.path(),
        }
    }
}

impl RequestSubject {
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Resource(requested) => requested.verb,
            Self::Path { verb, .. } => verb,
        }
    }

    /// `Deployment default/web/scale`, `deployments.apps in default`, or `/version`.
    pub(super) fn target(&self) -> String {
        match self {
            Self::Resource(requested) => requested.call().target(),
            Self::Path { path, .. } => path.clone(),
        }
    }

    pub(super) fn call(&self) -> Option<Call<'_>> {
        match self {
            Self::Resource(requested) => Some(requested.call()),
            Self::Path { .. } => None,
        }
    }

    /// The path of the request. Fails if one of its parts is not valid.
    pub(super) fn path(&self) -> Result<Cow<'_, str>, Error> {
        match self {
            Self::Resource(requested) => requested.path().map(Cow::Owned),
            Self::Path { path, .. } => match url::check_absolute(path) {
                Ok(()) => Ok(path.into()),
                Err(wrong) => Err(self.invalid(format!("the path {wrong}"))),
            },
        }
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> Error {
        self.error(ErrorKind::Invalid {
            reason: reason.into(),
        })
    }

    pub(super) fn undecodable(&self, reason: impl Into<String>) -> Error {
        self.error(ErrorKind::Decode {
            reason: reason.into(),
        })
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(self.verb(), self.target(), kind)
    }
}
