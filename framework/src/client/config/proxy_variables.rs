use http::Uri;
use secrecy::{ExposeSecret, SecretString};

use super::{ConfigError, no_proxy::NoProxy, port, proxy::Proxy};

/// What the environment says about proxies, read as programs written in Go read it
/// (golang.org/x/net/http/httpproxy): `HTTPS_PROXY` counts for servers with TLS, `HTTP_PROXY` for
/// those without, [`NO_PROXY`](NoProxy) makes exceptions; where the upper-case form is empty the
/// lower-case one counts. A value without a scheme means `http://`.
///
/// Unlike there, a value that is no proxy's address is an error if it is to be used, for going
/// directly may be what the proxy is there to prevent.
#[derive(Clone, Debug, Default)]
pub(super) struct ProxyVariables {
    https: Option<Variable>,
    http: Option<Variable>,
    none: String,
    /// Whether this is a CGI program, in which whoever sends a request may set HTTP_PROXY.
    is_cgi: bool,
}

#[derive(Clone, Debug)]
struct Variable {
    name: &'static str,
    value: SecretString,
}

impl ProxyVariables {
    /// Those of the environment in which `get` finds variables; empty ones count as not set.
    pub(super) fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let either = |upper: &'static str, lower: &'static str| {
            [upper, lower].into_iter().find_map(|name| {
                let value = SecretString::from(get(name)?);
                Some(Variable { name, value })
            })
        };
        Self {
            https: either("HTTPS_PROXY", "https_proxy"),
            http: either("HTTP_PROXY", "http_proxy"),
            none: get("NO_PROXY")
                .or_else(|| get("no_proxy"))
                .unwrap_or_default(),
            is_cgi: get("REQUEST_METHOD").is_some(),
        }
    }

    /// The proxy through which `server` is to be reached.
    pub(super) fn proxy_for(&self, server: &Uri) -> Result<Option<Proxy>, ConfigError> {
        let secure = server.scheme_str() == Some("https");
        let variable = if secure { &self.https } else { &self.http };
        let (Some(variable), Some(authority)) = (variable, server.authority()) else {
            return Ok(None);
        };
        let host = authority.host().trim_matches(['[', ']']);
        // What is wrong with the port is told where the server is connected to.
        let port = port(authority, if secure { 443 } else { 80 }).unwrap_or(0);
        if NoProxy::parse(&self.none).excludes(host, port) {
            return Ok(None);
        }
        if !secure && self.is_cgi {
            return Err(ConfigError::new(format!(
                "{} is not used in a CGI program (REQUEST_METHOD is set), where anybody may set it by a header: unset one of them",
                variable.name
            )));
        }
        let value = variable.value.expose_secret();
        let mut proxy = if value.contains("://") {
            Proxy::parse(value, variable.name)?
        } else {
            Proxy::parse(&format!("http://{value}"), variable.name)?
        };
        proxy.of_environment = true;
        Ok(Some(proxy))
    }
}

#[cfg(test)]
#[path = "proxy_variables_tests.rs"]
mod tests;
