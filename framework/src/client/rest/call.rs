use std::borrow::Cow;

use http::Method;

use crate::{
    client::{Encoding, Error, ErrorKind, request::url},
    resource::{ApiResource, ObjectKey},
};

/// What one request is about: enough for its path and for the text of its error.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The verb of RBAC.
    pub(crate) verb: &'static str,
    pub(crate) resource: &'a ApiResource,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
    /// Whether metadata is enough for the answer.
    pub(crate) metadata_only: bool,
    /// Whether the caller wants fields that only a newer server knows, too.
    pub(crate) all_fields: bool,
}

impl Call<'_> {
    /// The path of the request. Fails if one of its parts is not valid.
    pub(crate) fn path(&self) -> Result<String, Error> {
        let check = |what: &str, part: Option<&str>| {
            let Some(Err(wrong)) = part.map(url::check_segment) else {
                return Ok(());
            };
            Err(self.invalid(format!("the {what} {wrong}")))
        };
        // The name of a new object is in the body, and the server checks it.
        let name = match (self.verb, self.subresource) {
            ("create", None) => None,
            _ => self.name,
        };
        check("namespace", self.namespace)?;
        check("name", name)?;
        check("subresource", self.subresource)?;
        let one_object = self.name.is_some() || matches!(self.verb, "create" | "deletecollection");
        if one_object && self.resource.namespaced && self.namespace.is_none() {
            return Err(self.invalid(format!(
                "{} is namespaced and no namespace is given: use `Api::namespaced`",
                self.resource.kind
            )));
        }
        if !self.resource.namespaced && self.namespace.is_some() {
            return Err(self.invalid(format!(
                "{} is cluster-scoped and a namespace is given: use `Api::all`",
                self.resource.kind
            )));
        }
        Ok(url::path(
            self.resource,
            self.namespace,
            name,
            self.subresource,
        ))
    }

    /// `Deployment default/web`, or `deployments.apps in default`.
    pub(crate) fn target(&self) -> String {
        let mut text = match self.name {
            Some(name) => format!(
                "{} {}",
                self.resource.kind,
                ObjectKey::new(self.namespace, name)
            ),
            None => {
                let plural = self.resource.qualified_plural();
                match (self.namespace, self.resource.namespaced) {
                    (Some(namespace), _) => format!("{plural} in {namespace}"),
                    (None, true) => format!("{plural} in all namespaces"),
                    (None, false) => plural,
                }
            }
        };
        if let Some(subresource) = self.subresource {
            text.push('/');
            text.push_str(subresource);
        }
        text
    }

    pub(crate) fn invalid(&self, reason: impl Into<String>) -> Error {
        Error::new(
            self.verb,
            self.target(),
            ErrorKind::Invalid {
                reason: reason.into(),
            },
        )
    }

    pub(crate) fn undecodable(&self, reason: String) -> Error {
        Error::new(self.verb, self.target(), ErrorKind::Decode { reason })
    }

    /// Adds a hint to `error` if the server does not serve the kind, and the name of the Rust type if the program did not
    /// declare the request. A proxy's 404 gets no hint.
    pub(crate) fn add_hints(&self, mut error: Error) -> Error {
        if let ErrorKind::NotDeclared(error) = error.kind_mut()
            // Only the kind of a Rust type is borrowed. For other kinds nobody can write `reads::<..>()`.
            && let Cow::Borrowed(kind) = self.resource.kind
        {
            error.kind = Some(kind);
        }
        if let Some(status) = error.status()
            && status.is_not_served()
            && (!status.reason.is_empty() || status.message.starts_with("404"))
        {
            let subresource = match self.subresource {
                Some(subresource) => format!(" with `{subresource}`"),
                None => String::new(),
            };
            let text = format!(
                "the server does not serve {}{subresource}: check group and version, or install its definition",
                self.resource
            );
            return error.with_hint(Some(text.into()));
        }
        error
    }

    /// The `Accept` header. A server that cannot send metadata alone may send whole objects.
    pub(crate) fn accept(&self, encoding: Encoding) -> Cow<'static, str> {
        if !self.metadata_only {
            return encoding.accept();
        }
        let list = if matches!(self.verb, "list" | "deletecollection") {
            "List"
        } else {
            ""
        };
        let form = format!("as=PartialObjectMetadata{list};g=meta.k8s.io;v=v1");
        let json = Encoding::Json.media_type();
        let whole = format!("{json};{form}, {json};q=0.9");
        if encoding == Encoding::Json {
            return whole.into();
        }
        let other = encoding.media_type();
        format!("{other};{form}, {json};{form};q=0.9, {json};q=0.8").into()
    }

    /// Whether the answer is about objects of the kind. Most subresources have a kind of their own.
    pub(crate) fn has_object_of_kind(&self) -> bool {
        matches!(self.subresource, None | Some("status"))
    }

    pub(crate) fn method(&self) -> Method {
        match self.verb {
            "create" => Method::POST,
            "update" => Method::PUT,
            "patch" => Method::PATCH,
            "delete" | "deletecollection" => Method::DELETE,
            _ => Method::GET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};

    fn call<'a>(
        resource: &'a ApiResource,
        verb: &'static str,
        namespace: Option<&'a str>,
        name: Option<&'a str>,
    ) -> Call<'a> {
        Call {
            verb,
            resource,
            namespace,
            name,
            subresource: None,
            metadata_only: false,
            all_fields: false,
        }
    }

    #[test]
    fn paths_are_those_of_the_kubernetes_api() {
        let deployments = ApiResource::of::<Deployment>();
        let nodes = ApiResource::of::<Node>();
        let table = [
            (
                call(&deployments, "get", Some("default"), Some("web")),
                "/apis/apps/v1/namespaces/default/deployments/web",
            ),
            (
                call(&deployments, "list", None, None),
                "/apis/apps/v1/deployments",
            ),
            (
                call(&deployments, "create", Some("default"), None),
                "/apis/apps/v1/namespaces/default/deployments",
            ),
            (
                call(&nodes, "get", None, Some("node-1")),
                "/api/v1/nodes/node-1",
            ),
            (
                Call {
                    subresource: Some("status"),
                    ..call(&nodes, "update", None, Some("system:a b?c#d+é"))
                },
                "/api/v1/nodes/system:a%20b%3Fc%23d%2B%C3%A9/status",
            ),
        ];
        for (call, path) in table {
            assert_eq!(call.path().unwrap(), path);
        }
    }

    #[test]
    fn a_name_that_changes_the_meaning_of_the_path_is_refused() {
        let deployments = ApiResource::of::<Deployment>();
        let nodes = ApiResource::of::<Node>();
        let table = [
            (
                call(&deployments, "get", Some("default"), Some("")),
                "get Deployment default/: the name must not be empty",
            ),
            (
                call(&deployments, "get", Some("default"), Some("..")),
                "get Deployment default/..: the name must not be `.` or `..`",
            ),
            (
                call(&deployments, "get", Some("a/../b"), Some("web")),
                "get Deployment a/../b/web: the namespace must not contain `/`",
            ),
            (
                call(&deployments, "delete", Some("default"), Some("a%2Fb")),
                "delete Deployment default/a%2Fb: the name must not contain `%`",
            ),
            (
                call(&deployments, "create", None, None),
                "create deployments.apps in all namespaces: Deployment is namespaced and no namespace is given: use `Api::namespaced`",
            ),
            (
                call(&nodes, "get", Some("default"), Some("a")),
                "get Node default/a: Node is cluster-scoped and a namespace is given: use `Api::all`",
            ),
        ];
        for (call, text) in table {
            assert_eq!(call.path().unwrap_err().to_string(), text);
        }
    }
}
