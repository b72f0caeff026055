use tracing::Span;

/// The parts of an API path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestPath<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) resource: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
}

impl<'a> RequestPath<'a> {
    /// `None` if the path is not a resource, such as discovery, health and metrics.
    pub(crate) fn parse(path: &'a str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let group = match next()? {
            "api" => "",
            "apis" => next()?,
            _ => return None,
        };
        let version = next()?;
        let mut requested = Self {
            group,
            version,
            resource: next()?,
            ..Self::default()
        };
        requested.name = next();
        let after = next();
        match (requested.resource, requested.name, after) {
            // These two are subresources of the namespace itself.
            ("namespaces", Some(_), Some("status" | "finalize")) => requested.subresource = after,
            ("namespaces", Some(namespace), Some(resource)) => {
                requested.namespace = Some(namespace);
                requested.resource = resource;
                requested.name = next();
                requested.subresource = next();
            }
            _ => requested.subresource = after,
        }
        Some(requested)
    }

    pub(crate) fn record(&self, span: &Span) {
        span.record("k8s.api.group", self.group);
        span.record("k8s.api.version", self.version);
        span.record("k8s.resource", self.resource);
        for (field, value) in [
            ("k8s.namespace.name", self.namespace),
            ("k8s.object.name", self.name),
            ("k8s.subresource", self.subresource),
        ] {
            if let Some(value) = value {
                span.record(field, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_parsed_into_its_parts() {
        let all = |path| {
            let requested = RequestPath::parse(path)?;
            Some((
                requested.group,
                requested.version,
                requested.namespace.unwrap_or("-"),
                requested.resource,
                requested.name.unwrap_or("-"),
                requested.subresource.unwrap_or("-"),
            ))
        };
        let table = [
            ("/api/v1/nodes", ("", "v1", "-", "nodes", "-", "-")),
            (
                "/api/v1/nodes/a/status",
                ("", "v1", "-", "nodes", "a", "status"),
            ),
            (
                "/api/v1/namespaces",
                ("", "v1", "-", "namespaces", "-", "-"),
            ),
            (
                "/api/v1/namespaces/a",
                ("", "v1", "-", "namespaces", "a", "-"),
            ),
            (
                "/api/v1/namespaces/a/finalize",
                ("", "v1", "-", "namespaces", "a", "finalize"),
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments",
                ("apps", "v1", "a", "deployments", "-", "-"),
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments/web/scale",
                ("apps", "v1", "a", "deployments", "web", "scale"),
            ),
        ];
        for (path, expected) in table {
            assert_eq!(all(path), Some(expected), "{path}");
        }
        for path in [
            "/",
            "",
            "/version",
            "/api",
            "/apis/apps",
            "/apis/apps/v1",
            "*",
        ] {
            assert_eq!(all(path), None, "{path}");
        }
    }
}
