use http::Uri;
use secrecy::{ExposeSecret, SecretString};

use super::{ConfigError, no_proxy::NoProxy, port, proxy::Proxy};

/// The proxy variables of the environment, read as programs in Go read them (golang.org/x/net/http/httpproxy).
/// `HTTPS_PROXY` is for servers with TLS, `HTTP_PROXY` for those without, and [`NO_PROXY`](NoProxy) makes exceptions.
/// If the upper-case form is empty, the lower-case form is used. A value without a scheme means `http://`.
///
/// In one case this differs from Go: a value that is not the address of a proxy is an error if it would be used,
/// because the proxy may be there to prevent direct connections.
#[derive(Clone, Debug, Default)]
pub(super) struct ProxyVariables {
    https: Option<Variable>,
    http: Option<Variable>,
    none: String,
    /// Whether this is a CGI program. There a sender of requests could set HTTP_PROXY.
    is_cgi: bool,
}

#[derive(Clone, Debug)]
struct Variable {
    name: &'static str,
    value: SecretString,
}

impl ProxyVariables {
    /// Reads the variables with `get`. An empty variable counts as not set.
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

    /// The proxy for `server`.
    pub(super) fn proxy_for(&self, server: &Uri) -> Result<Option<Proxy>, ConfigError> {
        let secure = server.scheme_str() == Some("https");
        let variable = if secure { &self.https } else { &self.http };
        let (Some(variable), Some(authority)) = (variable, server.authority()) else {
            return Ok(None);
        };
        let host = authority.host().trim_matches(['[', ']']);
        // The dialer reports an invalid port.
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
        proxy.from_environment = true;
        Ok(Some(proxy))
    }
}

#[cfg(test)]
mod tests;
