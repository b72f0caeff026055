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
    /// A path that names a verb and nothing else, which a real server cannot read.
    Unreadable,
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
    /// Whether the path names the verb, as in the deprecated `/api/v1/watch/pods`.
    pub(super) is_verb_in_path: bool,
}

/// The verbs that a path can name. No path of a real server begins with `proxy` any more, but it still is a verb there.
const IN_PATH: [&str; 2] = ["watch", "proxy"];

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
    let in_path = IN_PATH.into_iter().find(|verb| parts.first() == Some(verb));
    let parts = match (in_path, parts) {
        (Some(_), [_]) => return Route::Unreadable,
        (Some(_), [_, rest @ ..]) => rest,
        _ => parts,
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
    let of_method = match (method, name) {
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
        verb: in_path.unwrap_or(of_method),
        group: group.into(),
        version: version.into(),
        namespace: namespace.map(String::from),
        resource: (*resource).into(),
        name: name.map(String::from),
        subresource: rest.get(1).map(|part| (*part).into()),
        rest: rest.len() > 2,
        is_verb_in_path: in_path.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: Method, path: &str, query: &str) -> ResourceRoute {
        match route(&method, path, &Query::parse(query)) {
            Route::Resource(route) => route,
            Route::Other | Route::Unreadable => panic!("{path} is a resource"),
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

    #[test]
    fn a_path_can_name_the_verb() {
        let one = read(Method::GET, "/api/v1/watch/namespaces/a/pods/b", "watch=0");
        assert!(one.is_verb_in_path);
        assert_eq!((one.verb, one.resource.as_str()), ("watch", "pods"));
        assert_eq!(
            (one.namespace.as_deref(), one.name.as_deref()),
            (Some("a"), Some("b"))
        );
        let all = read(Method::POST, "/apis/apps/v1/watch/deployments", "");
        assert_eq!((all.verb, all.name), ("watch", None));
        // Only the first part of a path is a verb.
        let inner = read(Method::GET, "/api/v1/namespaces/a/watch/b", "");
        assert_eq!((inner.verb, inner.resource.as_str()), ("get", "watch"));
        for path in ["/api/v1/watch", "/apis/apps/v1/watch/", "/api/v1/proxy"] {
            let route = route(&Method::GET, path, &Query::default());
            assert_eq!(route, Route::Unreadable, "{path}");
        }
    }
}
