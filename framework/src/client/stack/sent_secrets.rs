use std::{fmt, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    client::{Body, BoxError, config::Proxy, error::Chain},
    resource::Status,
};

/// What a text shows in place of a secret.
const REDACTED: &str = "<redacted>";
/// Shorter secrets are not searched, in bytes: they may be ordinary words.
const SHORTEST: usize = 8;
/// The end of a text that was cut.
const CUT: char = '…';

/// The secrets that one request carries: its token or its password, and those for the proxy.
///
/// A server or a proxy may repeat them in its answer, and errors and warnings quote the answer. So each text of a
/// server passes [`redact`](Self::redact) where it becomes an error or a warning. Secrets of fewer than 8 bytes are not
/// searched. A server that changes a secret before it repeats it, such as into base64, is not noticed.
#[derive(Clone, Default)]
pub(crate) struct SentSecrets {
    authorization: Option<HeaderValue>,
    others: Option<OtherSecrets>,
}

/// Secrets that are not in the request's headers. As an extension of a request: those for the proxy.
#[derive(Clone)]
pub(super) struct OtherSecrets(Arc<[SecretString]>);

impl OtherSecrets {
    /// The secrets for `proxy`, if it has some.
    pub(super) fn of_proxy(proxy: &Proxy) -> Option<Self> {
        let user = proxy.user.as_ref()?;
        let (name, password) = (user.name.expose_secret(), user.password.expose_secret());
        let encoded = BASE64_STANDARD.encode(format!("{name}:{password}"));
        Some(Self(
            [encoded.into(), user.password.clone()]
                .into_iter()
                .collect(),
        ))
    }
}

impl SentSecrets {
    /// The secrets of `request`, which is about to be sent.
    pub(crate) fn of(request: &Request<Body>) -> Self {
        Self {
            authorization: request.headers().get(header::AUTHORIZATION).cloned(),
            others: request.extensions().get().cloned(),
        }
    }

    /// The answer to the request, without the secrets in the texts of its errors: also those that its body ends with, such as
    /// the debug data of HTTP/2. The secrets become an extension of the response, because its status and body may have
    /// more texts.
    pub(crate) fn guard(
        self,
        answer: Result<Response<Body>, BoxError>,
        keep: impl FnOnce(&Response<Body>) -> bool,
    ) -> Result<Response<Body>, BoxError> {
        let mut response = answer.map_err(|error| self.redact_error(error))?;
        if keep(&response) {
            response.extensions_mut().insert(self.clone());
        }
        if self.is_empty() || response.body().whole().is_some() {
            return Ok(response);
        }
        Ok(response.map(|body| Body::new(body.map_err(move |error| self.redact_error(error)))))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.authorization.is_none() && self.others.is_none()
    }

    /// The same error if its text has none of the secrets, and otherwise only its text, without them.
    fn redact_error(&self, error: BoxError) -> BoxError {
        if self.is_empty() {
            return error;
        }
        let text = Chain(&*error).to_string();
        let redacted = self.redacted(&text);
        match text == redacted {
            true => error,
            false => redacted.into(),
        }
    }

    /// A token that is in the body of a request.
    pub(crate) fn of_token(token: &SecretString) -> Self {
        Self {
            authorization: None,
            others: Some(OtherSecrets([token.clone()].into_iter().collect())),
        }
    }

    /// Replaces the secrets in `text`.
    pub(crate) fn redact(&self, text: &mut String) {
        if text.len() >= SHORTEST {
            self.each(|secret| hide(text, secret));
        }
    }

    /// The text of `value` without the secrets.
    pub(crate) fn redacted(&self, value: impl fmt::Display) -> String {
        let mut text = value.to_string();
        self.redact(&mut text);
        text
    }

    /// Replaces the secrets in all texts of `status`.
    pub(crate) fn redact_status(&self, status: &mut Status) {
        let metadata = &mut status.metadata;
        let optional = [
            &mut status.status,
            &mut metadata.continue_,
            &mut metadata.resource_version,
            &mut metadata.self_link,
        ];
        for text in optional.into_iter().flatten() {
            self.redact(text);
        }
        self.redact(&mut status.message);
        self.redact(&mut status.reason);
        let Some(details) = &mut status.details else {
            return;
        };
        for text in [
            &mut details.name,
            &mut details.group,
            &mut details.kind,
            &mut details.uid,
        ] {
            self.redact(text);
        }
        for cause in &mut details.causes {
            self.redact(&mut cause.reason);
            self.redact(&mut cause.message);
            self.redact(&mut cause.field);
        }
    }

    fn each(&self, mut hide: impl FnMut(&str)) {
        let header = self.authorization.as_ref();
        let header = header.map(|header| String::from_utf8_lossy(header.as_bytes()));
        if let Some(header) = header {
            let (scheme, secret) = header.split_once(' ').unwrap_or(("", &header));
            let secret = secret.trim();
            hide(secret);
            if scheme.eq_ignore_ascii_case("basic")
                && let Ok(pair) = BASE64_STANDARD.decode(secret)
                && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
            {
                hide(password);
            }
        }
        for secret in self.others.iter().flat_map(|others| others.0.iter()) {
            hide(secret.expose_secret());
        }
    }
}

/// Replaces `secret` in `text`, also if the text was cut within the secret.
fn hide(text: &mut String, secret: &str) {
    if secret.len() < SHORTEST {
        return;
    }
    if text.contains(secret) {
        *text = text.replace(secret, REDACTED);
    }
    let Some(end) = text.rfind(CUT) else {
        return;
    };
    let begun = (SHORTEST..secret.len())
        .rev()
        .filter_map(|length| secret.get(..length))
        .find(|begun| text[..end].ends_with(begun));
    if let Some(begun) = begun {
        text.replace_range(end - begun.len()..end, REDACTED);
    }
}

/// Shows no secret.
impl fmt::Debug for SentSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentSecrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_header(header: &'static str) -> SentSecrets {
        SentSecrets {
            authorization: Some(HeaderValue::from_static(header)),
            others: None,
        }
    }

    #[test]
    fn each_form_of_a_secret_is_replaced_and_short_ones_are_not() {
        let proxy: Proxy = "http://me:proxy-secret@proxy".parse().unwrap();
        let proxy = SentSecrets {
            authorization: None,
            others: OtherSecrets::of_proxy(&proxy),
        };
        // `me:basic-secret` and `me:short` in base64.
        let basic = of_header("Basic bWU6YmFzaWMtc2VjcmV0");
        let token = SentSecrets::of_token(&"reviewed-token".to_owned().into());
        for (secrets, text, expected) in [
            (
                of_header("Bearer a-long-token"),
                "a-long-token, a-long-token",
                "<redacted>, <redacted>",
            ),
            (of_header("bearer  spaced-token"), "spaced-token", REDACTED),
            (of_header("without-scheme"), "without-scheme", REDACTED),
            (
                of_header("Bearer short"),
                "short and long",
                "short and long",
            ),
            (
                basic.clone(),
                "Basic bWU6YmFzaWMtc2VjcmV0",
                "Basic <redacted>",
            ),
            (basic, "basic-secret of me", "<redacted> of me"),
            (
                of_header("Basic bWU6c2hvcnQ="),
                "a short one",
                "a short one",
            ),
            (proxy.clone(), "proxy-secret", REDACTED),
            (proxy, "(bWU6cHJveHktc2VjcmV0)", "(<redacted>)"),
            (token, "[reviewed-token]", "[<redacted>]"),
            (SentSecrets::default(), "a-long-token", "a-long-token"),
        ] {
            assert_eq!(secrets.redacted(text), expected);
        }
    }

    #[test]
    fn the_beginning_of_a_secret_where_a_text_was_cut_is_replaced() {
        let secrets = of_header("Bearer a-long-token");
        for (text, expected) in [
            ("x a-long-tok…", "x <redacted>…"),
            ("(\"… a-long-t…\"): check", "(\"… <redacted>…\"): check"),
            ("x a-long…", "x a-long…"),
            ("x a-long-tok", "x a-long-tok"),
        ] {
            assert_eq!(secrets.redacted(text), expected);
        }
    }
}
