use std::{
    fmt::Write as _,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tower::{Layer, Service};

use crate::client::{Body, BoxError, ConfigError, config::Impersonation};

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const EXTRA: &str = "impersonate-extra-";

/// Sends requests as another user. A request that has such headers already is not changed.
#[derive(Clone, Debug)]
pub struct ImpersonateLayer {
    headers: Option<Arc<HeaderMap>>,
}

impl ImpersonateLayer {
    /// Impersonates `whom`. `None` changes nothing.
    ///
    /// # Errors
    /// A value cannot be in a header: no user, an empty key, or a line break.
    pub fn new(whom: Option<&Impersonation>) -> Result<Self, ConfigError> {
        let headers = whom.map(headers).transpose()?.map(Arc::new);
        Ok(Self { headers })
    }
}

impl<S> Layer<S> for ImpersonateLayer {
    type Service = Impersonate<S>;

    fn layer(&self, inner: S) -> Impersonate<S> {
        Impersonate {
            inner,
            headers: self.headers.clone(),
        }
    }
}

/// The service of [`ImpersonateLayer`].
#[derive(Clone, Debug)]
pub struct Impersonate<S> {
    inner: S,
    headers: Option<Arc<HeaderMap>>,
}

impl<S> Service<Request<Body>> for Impersonate<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(headers) = &self.headers
            && !request.headers().contains_key(USER)
        {
            for (name, value) in headers.iter() {
                request.headers_mut().append(name.clone(), value.clone());
            }
        }
        self.inner.call(request)
    }
}

fn headers(whom: &Impersonation) -> Result<HeaderMap, ConfigError> {
    if whom.user.is_empty() {
        return Err(ConfigError::new(
            "impersonation names no user: give the user to act as (`as`), beside UID, groups and extra values",
        ));
    }
    let mut headers = HeaderMap::new();
    headers.append(USER, value(&whom.user, "user")?);
    if let Some(uid) = &whom.uid {
        headers.append(UID, value(uid, "UID")?);
    }
    for group in &whom.groups {
        headers.append(GROUP, value(group, "group")?);
    }
    for (key, values) in &whom.extra {
        let name = HeaderName::try_from(format!("{EXTRA}{}", escaped(key)));
        let name = name.ok().filter(|_| !key.is_empty()).ok_or_else(|| {
            ConfigError::new(format!(
                "impersonation: the extra key `{key}` is empty or too long: correct it"
            ))
        })?;
        for extra in values {
            headers.append(name.clone(), value(extra, &format!("value of `{key}`"))?);
        }
    }
    Ok(headers)
}

fn value(text: &str, what: &str) -> Result<HeaderValue, ConfigError> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        ConfigError::new(format!(
            "impersonation: the {what} holds characters that no header may have: correct it"
        ))
    })
}

/// A key as part of a header's name. Writes `%` and characters that a name may not have as %XX.
fn escaped(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            name.push(byte.into());
        } else {
            // Writing to a string does not fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped_as_the_api_server_reads_them() {
        let table = [
            ("alpha.beta-1~", "alpha.beta-1~"),
            ("example.com/scopes", "example.com%2Fscopes"),
            ("100%", "100%25"),
            ("a:b c", "a%3Ab%20c"),
            ("é", "%C3%A9"),
        ];
        for (key, name) in table {
            assert_eq!(escaped(key), name);
            HeaderName::try_from(format!("{EXTRA}{name}")).unwrap();
        }
    }

    #[test]
    fn an_impersonation_that_no_header_can_express_is_an_error() {
        let table = [
            (
                Impersonation::default().group("g"),
                "impersonation names no user: give the user to act as (`as`), beside UID, groups and extra values",
            ),
            (
                Impersonation::new("a\r\nb"),
                "impersonation: the user holds characters that no header may have: correct it",
            ),
            (
                Impersonation::new("a").extra("", ["x"]),
                "impersonation: the extra key `` is empty or too long: correct it",
            ),
            (
                Impersonation::new("a").extra("k", ["\n"]),
                "impersonation: the value of `k` holds characters that no header may have: correct it",
            ),
        ];
        for (whom, text) in table {
            assert_eq!(headers(&whom).unwrap_err().to_string(), text);
        }
    }
}
