use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde_json::Value;

/// Where a webhook is: a `clientConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// Scheme and authority: `https://web.shop.svc:443`.
    pub(super) base: String,
    /// The name that the certificate must have.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path, which begins with `/`.
    pub(super) path: String,
    pub(super) service: Option<Service>,
    /// The authorities that the certificate is verified by, as PEM.
    pub(super) authorities: Vec<u8>,
}

/// A Service that a `clientConfig` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Service {
    /// The key of its handler and its address.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl Destination {
    /// Reads a `clientConfig` that the server has accepted.
    ///
    /// # Errors
    /// The text of the error: the URL cannot be parsed, or there is neither a URL nor a Service.
    pub(crate) fn read(config: &Value) -> Result<Self, String> {
        let bundle = config["caBundle"].as_str().unwrap_or_default();
        let authorities = STANDARD.decode(bundle).unwrap_or_default();
        if let Some(service) = config.get("service").filter(|service| service.is_object()) {
            let text = |field: &str| service[field].as_str().unwrap_or_default().to_owned();
            let (namespace, name) = (text("namespace"), text("name"));
            let port = service["port"].as_u64().unwrap_or(443);
            let port = u16::try_from(port).unwrap_or(443);
            let host = format!("{name}.{namespace}.svc");
            return Ok(Self {
                base: format!("https://{host}:{port}"),
                host,
                port,
                path: clean(&text("path")),
                service: Some(Service { namespace, name }),
                authorities,
            });
        }
        let url = config["url"].as_str().unwrap_or_default();
        let uri: Uri = url
            .parse()
            .map_err(|error| format!("Unparsable URL: {error}"))?;
        let (Some("https"), Some(host), Some(authority)) =
            (uri.scheme_str(), uri.host(), uri.authority())
        else {
            return Err("webhook configuration must have either service or URL".into());
        };
        Ok(Self {
            base: format!("https://{authority}"),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: uri.port_u16().unwrap_or(443),
            path: clean(uri.path()),
            service: None,
            authorities,
        })
    }

    /// The URL that errors show.
    pub(super) fn url(&self, query: &str) -> String {
        format!("{}{}{query}", self.base, self.path)
    }
}

/// A path as client-go sends it: absolute, without empty segments and dots. envtest writes two slashes.
fn clean(path: &str) -> String {
    let mut kept = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_has_the_name_of_its_certificate_and_port_443() {
        let config = json!({"service": {"namespace": "shop", "name": "web", "path": "check"}});
        let read = Destination::read(&config).unwrap();
        assert_eq!(
            read.url("?timeout=10s"),
            "https://web.shop.svc:443/check?timeout=10s"
        );
        assert_eq!((read.host.as_str(), read.port), ("web.shop.svc", 443));
    }

    #[test]
    fn a_path_is_cleaned() {
        for (path, expected) in [("//check", "/check"), ("", "/"), ("/a/./b/../c/", "/a/c")] {
            assert_eq!(clean(path), expected);
        }
    }

    #[test]
    fn a_url_keeps_its_authority() {
        let config = json!({"url": "https://[::1]:9443/check", "caBundle": "YQ=="});
        let read = Destination::read(&config).unwrap();
        assert_eq!(read.url(""), "https://[::1]:9443/check");
        assert_eq!((read.host.as_str(), read.port), ("::1", 9443));
        assert_eq!(read.authorities, b"a");
        assert!(Destination::read(&json!({"url": "check"})).is_err());
    }
}
