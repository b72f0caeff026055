use http::Method;
use percent_encoding::percent_decode_str;

use super::query::Query;

/// The meaning of a path and method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A resource, which may not be served.
    Resource(ResourceRoute),
    /// Anything else: discovery, OpenAPI, health.
    Other,
}

/// A request for a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceRoute {
    pub(super) verb: &'static str,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) namespace: Option<String>,
    pub(super) resource: String,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    /// Whether the path continues after the subresource, as in `pods/x/proxy/a/b`.
    pub(super) rest: bool,
}

/// Parses a path as the API server does.
pub(super) fn route(method: &Method, path: &str, query: &Query) -> Route {
    let decoded: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    let (group, version, parts) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Route::Other,
    };
    // `namespaces/x` is an object, `namespaces/x/pods` is a path in that namespace.
    let (namespace, parts) = match parts {
        ["namespaces", namespace, "status" | "finalize", ..] => (Some(*namespace), parts),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        ["namespaces", namespace] => (Some(*namespace), parts),
        _ => (None, parts),
    };
    let Some((resource, rest)) = parts.split_first() else {
        return Route::Other;
    };
    let name = rest.first().copied();
    let verb = match (method, name) {
        (&Method::GET | &Method::HEAD, Some(_)) => "get",
        (&Method::GET | &Method::HEAD, None) if query.flag("watch") => "watch",
        (&Method::GET | &Method::HEAD, None) => "list",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, Some(_)) => "delete",
        (&Method::DELETE, None) => "deletecollection",
        _ => "",
    };
    Route::Resource(ResourceRoute {
        verb,
        group: group.into(),
        version: version.into(),
        namespace: namespace.map(String::from),
        resource: (*resource).into(),
        name: name.map(String::from),
        subresource: rest.get(1).map(|part| (*part).into()),
        rest: rest.len() > 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: Method, path: &str, query: &str) -> ResourceRoute {
        match route(&method, path, &Query::parse(query)) {
            Route::Resource(route) => route,
            Route::Other => panic!("{path} is a resource"),
        }
    }

    #[test]
    fn every_form_of_path_is_parsed() {
        let pod = read(Method::GET, "/api/v1/namespaces/a/pods/b/status", "");
        assert_eq!(
            (pod.verb, pod.namespace.as_deref(), pod.name.as_deref()),
            ("get", Some("a"), Some("b"))
        );
        assert_eq!(pod.subresource.as_deref(), Some("status"));
        let all = read(Method::GET, "/apis/apps/v1/deployments", "watch=1");
        assert_eq!(
            (all.verb, all.group.as_str(), all.namespace),
            ("watch", "apps", None)
        );
        let namespace = read(Method::PUT, "/api/v1/namespaces/a/finalize", "");
        assert_eq!(
            (namespace.resource.as_str(), namespace.name.as_deref()),
            ("namespaces", Some("a"))
        );
        assert_eq!(namespace.subresource.as_deref(), Some("finalize"));
        assert_eq!(
            read(Method::DELETE, "/api/v1/namespaces/a/pods", "").verb,
            "deletecollection"
        );
        assert_eq!(read(Method::GET, "/api/v1/namespaces", "").verb, "list");
        assert_eq!(
            route(&Method::GET, "/apis/apps/v1", &Query::default()),
            Route::Other
        );
    }
}
