use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use http::{HeaderValue, Request, Response, header};
use tower::{Layer, Service};

use super::after::{After, Outcome, Then};
use crate::client::{Body, BoxError};

/// So many different warnings are remembered; further ones are not told.
const REMEMBERED: usize = 256;
/// No more of one warning is told.
const LONGEST: usize = 1024;

/// Tells each warning of the server once, such as that a version is going to be removed.
///
/// API servers send them in `Warning` headers with code 299 (KEP-1693). The text is that of the
/// server, without control characters and at most 1 KiB of it. Of one client the first 256
/// different ones are told.
#[derive(Clone)]
pub struct WarningsLayer {
    warnings: Arc<Warnings>,
}

impl WarningsLayer {
    /// Tells them to `handler`, which must not block.
    pub fn new(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            warnings: Arc::new(Warnings {
                told: Mutex::default(),
                handler: Box::new(handler),
            }),
        }
    }
}

/// Logs them.
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
    type Service = TellWarnings<S>;

    fn layer(&self, inner: S) -> TellWarnings<S> {
        TellWarnings {
            inner,
            warnings: self.warnings.clone(),
        }
    }
}

/// The service of [`WarningsLayer`].
#[derive(Clone)]
pub struct TellWarnings<S> {
    inner: S,
    warnings: Arc<Warnings>,
}

impl<S> Service<Request<Body>> for TellWarnings<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<S::Future, Listen>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        After::new(self.inner.call(request), Listen(self.warnings.clone()))
    }
}

pub struct Listen(Arc<Warnings>);

impl Then for Listen {
    fn then(self, outcome: Outcome) -> Outcome {
        let response = outcome?;
        for value in response.headers().get_all(header::WARNING) {
            self.0.hear(value);
        }
        Ok(response)
    }
}

struct Warnings {
    told: Mutex<HashSet<String>>,
    handler: Box<dyn Fn(&str) + Send + Sync>,
}

impl Warnings {
    fn hear(&self, value: &HeaderValue) {
        if let Some(text) = text_of(value)
            && self.is_new(&text)
        {
            (self.handler)(&text);
        }
    }

    fn is_new(&self, text: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < REMEMBERED && !told.contains(text) && told.insert(text.to_owned())
    }
}

/// The text of `299 - "text"`, the only form that API servers use (KEP-1693).
fn text_of(value: &HeaderValue) -> Option<String> {
    let value = String::from_utf8_lossy(value.as_bytes());
    let (_agent, quoted) = value.strip_prefix("299 ")?.split_once(' ')?;
    let mut text = String::new();
    let mut escaped = false;
    for letter in quoted.strip_prefix('"')?.chars() {
        match letter {
            _ if text.len() >= LONGEST => break,
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
            assert_eq!(text_of(&value).as_deref(), text);
        }
    }

    #[test]
    fn a_warning_is_told_once_and_not_without_end() {
        let (tell, told) = std::sync::mpsc::channel();
        let layer = WarningsLayer::new(move |text| tell.send(text.to_owned()).unwrap());
        let hear = |text: &str| {
            let value = HeaderValue::from_str(&format!("299 - \"{text}\"")).unwrap();
            layer.warnings.hear(&value);
        };
        hear("a");
        hear("a");
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["a"]);
        (0..2 * REMEMBERED).for_each(|at| hear(&at.to_string()));
        assert_eq!(told.try_iter().count(), REMEMBERED - 1);
    }
}
