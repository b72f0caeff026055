use std::{
    collections::HashSet,
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, Request, Response, header};
use parking_lot::Mutex;
use tower::{Layer, Service};

use super::{
    and_then::{AndThen, OnOutcome, Outcome},
    sent_secrets::SentSecrets,
};
use crate::client::{Body, BoxError};

/// At most this many different warnings are reported.
const MAX_SEEN: usize = 256;
/// At most this many bytes of a warning are reported.
const LONGEST: usize = 1024;

/// Reports each different warning of the server once, such as that a version will be removed.
///
/// API servers send warnings in `Warning` headers with code 299 (KEP-1693). The layer reports the server's text,
/// without control characters, without the credentials of the request, and at most 1 KiB of it. One client reports at most 256 different warnings.
#[derive(Clone)]
pub struct WarningsLayer {
    warnings: Arc<WarningHandler>,
}

impl WarningsLayer {
    /// Calls `handler` with each warning. `handler` must not block.
    pub fn new(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            warnings: Arc::new(WarningHandler {
                seen: Mutex::default(),
                handler: Box::new(handler),
            }),
        }
    }
}

/// Logs each warning.
impl Default for WarningsLayer {
    fn default() -> Self {
        Self::new(|text| tracing::warn!("the API server warns: {text}"))
    }
}

impl fmt::Debug for WarningsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarningsLayer").finish_non_exhaustive()
    }
}

impl<S> Layer<S> for WarningsLayer {
    type Service = Warnings<S>;

    fn layer(&self, inner: S) -> Warnings<S> {
        Warnings {
            inner,
            warnings: self.warnings.clone(),
        }
    }
}

/// The service of [`WarningsLayer`].
#[derive(Clone)]
pub struct Warnings<S> {
    inner: S,
    warnings: Arc<WarningHandler>,
}

impl<S> Service<Request<Body>> for Warnings<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = AndThen<S::Future, HandleWarnings>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let secrets = SentSecrets::of(&request);
        AndThen::new(
            self.inner.call(request),
            HandleWarnings(self.warnings.clone(), secrets),
        )
    }
}

pub struct HandleWarnings(Arc<WarningHandler>, SentSecrets);

impl OnOutcome for HandleWarnings {
    fn then(self, outcome: Outcome) -> Outcome {
        let response = outcome?;
        for value in response.headers().get_all(header::WARNING) {
            self.0.handle(value, &self.1);
        }
        Ok(response)
    }
}

struct WarningHandler {
    seen: Mutex<HashSet<String>>,
    handler: Box<dyn Fn(&str) + Send + Sync>,
}

impl WarningHandler {
    fn handle(&self, value: &HeaderValue, secrets: &SentSecrets) {
        if let Some(text) = text_of(value, secrets)
            && self.is_new(&text)
        {
            (self.handler)(&text);
        }
    }

    fn is_new(&self, text: &str) -> bool {
        let mut seen = self.seen.lock();
        seen.len() < MAX_SEEN && !seen.contains(text) && seen.insert(text.to_owned())
    }
}

/// The text of `299 - "text"`, the only form that API servers use (KEP-1693).
fn text_of(value: &HeaderValue, secrets: &SentSecrets) -> Option<String> {
    let value = String::from_utf8_lossy(value.as_bytes());
    let (_agent, quoted) = value.strip_prefix("299 ")?.split_once(' ')?;
    let mut text = String::new();
    let mut escaped = false;
    for letter in quoted.strip_prefix('"')?.chars() {
        match letter {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            letter => {
                escaped = false;
                if !letter.is_control() {
                    text.push(letter);
                }
            }
        }
    }
    // Before the text is cut, so that no part of a secret is left at its end.
    secrets.redact(&mut text);
    text.truncate(text.floor_char_boundary(LONGEST));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_unquoted() {
        for (value, text) in [
            (r#"299 - "v1 is old""#, Some("v1 is old")),
            (
                r#"299 - "say \"please\"" "Fri, 20 Nov 2026""#,
                Some("say \"please\""),
            ),
            (r#"199 - "other""#, None),
            ("299 -", None),
        ] {
            let value = HeaderValue::from_static(value);
            assert_eq!(text_of(&value, &SentSecrets::default()).as_deref(), text);
        }
    }

    #[test]
    fn each_warning_is_reported_once_and_their_number_is_limited() {
        let (tell, seen) = std::sync::mpsc::channel();
        let layer = WarningsLayer::new(move |text| tell.send(text.to_owned()).unwrap());
        let handle = |text: &str| {
            let value = HeaderValue::from_str(&format!("299 - \"{text}\"")).unwrap();
            layer.warnings.handle(&value, &SentSecrets::default());
        };
        handle("a");
        handle("a");
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), ["a"]);
        (0..2 * MAX_SEEN).for_each(|at| handle(&at.to_string()));
        assert_eq!(seen.try_iter().count(), MAX_SEEN - 1);
    }
}
