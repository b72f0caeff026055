use std::{fmt, str::FromStr};

use http::Uri;
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};

use super::{ConfigError, port};

/// A proxy on the way to the API server.
///
/// It is written as a URL: `http://` and `https://` for a proxy that makes tunnels with `CONNECT` (RFC 9110), without
/// or with TLS, and `socks5://` for one that speaks SOCKS5 (RFC 1928). The user name and the password in it are sent to
/// the proxy, as `Proxy-Authorization` or as in RFC 1929, and to no other party. `Display`, `Debug` and errors do not
/// show them. The default ports are 80, 443 and 1080.
///
/// * Every connection is a tunnel, also to servers without TLS. So the proxy never sees a request, and TLS is spoken
///   with the API server itself.
/// * The proxy looks up the server's name, also with `socks5://`, as with kubectl. `socks5h://` is the same.
/// * The certificate of an `https://` proxy may be signed by the system's authorities or by the cluster's. The API
///   server's own certificate must be signed by the cluster's. The client does not present its certificate to the
///   proxy.
///
/// ```
/// use pilothouse::client::{Config, Proxy};
///
/// # fn example() -> Result<(), pilothouse::client::ConfigError> {
/// let proxy: Proxy = "http://me:secret@proxy.example:3128".parse()?;
/// assert_eq!(proxy.to_string(), "http://proxy.example:3128");
/// let config = Config::new("https://cluster.example:6443".parse().unwrap()).with_proxy(proxy);
/// # Ok(()) }
/// # example().unwrap();
/// ```
#[derive(Clone)]
pub struct Proxy {
    pub(crate) kind: ProxyKind,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<ProxyUser>,
    /// As it was written, with user and password.
    pub(crate) url: SecretString,
    /// Where it was written, for messages.
    pub(crate) origin: String,
    /// Whether it comes from a variable of the environment, for which `NO_PROXY` makes exceptions.
    pub(crate) from_environment: bool,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    Http,
    Https,
    Socks5,
}

/// The client's credentials for the proxy.
#[derive(Clone)]
pub(crate) struct ProxyUser {
    pub(crate) name: SecretString,
    pub(crate) password: SecretString,
}

impl Proxy {
    /// Reads the proxy's `url`, which was written in `origin`. No message repeats a part of `url`, because a URL that
    /// does not parse may hold a password anywhere.
    pub(super) fn parse(url: &str, origin: &str) -> Result<Self, ConfigError> {
        let wrong = |text: &str| Err(ConfigError::new(format!("{origin}: {text}")));
        let no_url = "a proxy's address must be a URL such as http://proxy:3128, https://proxy:443 or socks5://proxy:1080";
        let Ok(parsed) = url.parse::<Uri>() else {
            return wrong(no_url);
        };
        let (Some(scheme), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
            return wrong(no_url);
        };
        let (kind, default_port) = match scheme {
            "http" => (ProxyKind::Http, 80),
            "https" => (ProxyKind::Https, 443),
            "socks5" | "socks5h" => (ProxyKind::Socks5, 1080),
            _ => {
                return wrong("a proxy's URL must begin with http://, https:// or socks5://");
            }
        };
        let host = authority.host().trim_matches(['[', ']']);
        let Some(port) = port(authority, default_port).filter(|_| !host.is_empty()) else {
            return wrong(no_url);
        };
        let user = match authority.as_str().rsplit_once('@') {
            None => None,
            Some((user, _)) => {
                let (name, password) = user.split_once(':').unwrap_or((user, ""));
                let decoded = |text| percent_decode_str(text).decode_utf8().ok();
                let (Some(name), Some(password)) = (decoded(name), decoded(password)) else {
                    return wrong("the user name or the password in the proxy's URL is not UTF-8");
                };
                // Each is sent after one byte with its length.
                if kind == ProxyKind::Socks5 && name.len().max(password.len()) > 255 {
                    return wrong(
                        "the user name or the password in the proxy's URL is longer than the 255 bytes that SOCKS5 allows",
                    );
                }
                Some(ProxyUser {
                    name: SecretString::from(name.into_owned()),
                    password: SecretString::from(password.into_owned()),
                })
            }
        };
        Ok(Self {
            kind,
            host: host.to_owned(),
            port,
            user,
            url: SecretString::from(url),
            origin: origin.to_owned(),
            from_environment: false,
        })
    }

    /// The proxy in messages: without the user, with the place where it was written.
    pub(crate) fn shown(&self) -> String {
        format!("{self} ({})", self.origin)
    }

    /// The URL with its password, if it was written for this cluster alone. For code that may know the password.
    pub(crate) fn own_url(&self) -> Option<&str> {
        (!self.from_environment).then(|| self.url.expose_secret())
    }
}

impl FromStr for Proxy {
    type Err = ConfigError;

    fn from_str(url: &str) -> Result<Self, ConfigError> {
        Self::parse(url, "the proxy given by the program")
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Https => "https",
            ProxyKind::Socks5 => "socks5",
        };
        let (host, port) = (&self.host, self.port);
        if host.contains(':') {
            write!(f, "{scheme}://[{host}]:{port}")
        } else {
            write!(f, "{scheme}://{host}:{port}")
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_proxy_url_is_parsed() {
        let table = [
            ("http://proxy", "http://proxy:80", None),
            ("https://proxy/", "https://proxy:443", None),
            ("socks5h://[fd00::1]", "socks5://[fd00::1]:1080", None),
            ("socks5://me@p:9", "socks5://p:9", Some(("me", ""))),
            (
                "HTTP://m%40e:a%3Ab:c@p",
                "http://p:80",
                Some(("m@e", "a:b:c")),
            ),
        ];
        for (url, shown, user) in table {
            let proxy: Proxy = url.parse().unwrap();
            assert_eq!(proxy.to_string(), shown);
            let given = proxy.user.as_ref();
            let given =
                given.map(|user| (user.name.expose_secret(), user.password.expose_secret()));
            assert_eq!(given, user, "{url}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_url_does_not_quote_it() {
        let long = format!("socks5://me:{}@p", "hunter2".repeat(40));
        let table = [
            ("hunter2", "must be a URL such as http://proxy:3128"),
            ("http://me:hunter2@", "must be a URL"),
            ("http://me:hunter2@p:0", "must be a URL"),
            ("http://me:hunter2@p:http", "must be a URL"),
            (
                "ftp://me:hunter2@p",
                "must begin with http://, https:// or socks5://",
            ),
            ("http://me:%ffhunter2@p", "is not UTF-8"),
            (&long, "longer than the 255 bytes"),
        ];
        for (url, expected) in table {
            let error = url.parse::<Proxy>().unwrap_err().to_string();
            assert!(error.contains(expected), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
