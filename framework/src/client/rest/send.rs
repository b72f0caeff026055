use std::borrow::Cow;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};

use super::{Call, Client, response::collect};
use crate::client::{
    Body, Encoding, Error, ErrorKind, MissingRule, codec::Encoded, request::RequestClass,
    stack::SentSecrets,
};

impl Client {
    /// Sends a request whose URI has only path and query. Returns the server's answer, also if it is an error.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Body, Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let request = http::Request::get("/livez").body(Body::empty())?;
    /// println!("{}", client.send(request).await?.status());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for typed requests, but never [`ErrorKind::Api`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        let verb = "send";
        let target = format!("{} {}", request.method(), request.uri().path());
        self.dispatch(verb, || target, request).await
    }

    /// Gives a request to the stack. The future has the answer, or the error of the stack.
    fn dispatch(
        &self,
        verb: &'static str,
        target: impl FnOnce() -> String,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, Error>> {
        // The request is passed on here and not in the future, which would have room for it.
        let answer = self.inner.answer(request);
        async move {
            let answer = answer.await;
            let answer = answer.map_err(|error| Error::from_stack(verb, target(), error));
            self.inner.reachability.note(&answer);
            answer
        }
    }

    /// Sends a call and reads the whole answer. An error answer is an error.
    ///
    /// The future is boxed, because the futures around it are built for each type of the program: they stay small, and this
    /// one is built once.
    pub(crate) fn fetch<'a>(
        &'a self,
        call: &'a Call<'a>,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> BoxFuture<'a, Result<Encoded, Error>> {
        Box::pin(async move {
            let (encoding, response) = self.open(call, RequestClass::Request, uri, body).await?;
            let bytes = collect(call.verb, || call.target(), response).await?;
            let bytes = encoding.received(bytes);
            let bytes = bytes.map_err(|reason| call.undecodable(reason))?;
            Ok(Encoded { encoding, bytes })
        })
    }

    /// Sends a call with a body in the negotiated encoding and reads the whole answer. If the server refuses the
    /// encoding (415), it has applied nothing, and the client sends the body once more as JSON.
    pub(crate) async fn submit(
        &self,
        call: &Call<'_>,
        uri: String,
        write: impl Fn(Encoding) -> Result<(&'static str, Bytes), Error>,
    ) -> Result<Encoded, Error> {
        let encoding = self.inner.encodings.for_body(call.resource);
        let body = write(encoding)?;
        if encoding == Encoding::Json {
            return self.fetch(call, uri, Some(body)).await;
        }
        let media_type = body.0;
        match self.fetch(call, uri.clone(), Some(body)).await {
            Err(error) if is_code(&error, StatusCode::UNSUPPORTED_MEDIA_TYPE) => {
                let body = write(Encoding::Json)?;
                // The body was already JSON, in a form that the server does not accept.
                if body.0 == media_type {
                    return Err(error);
                }
                self.inner.encodings.refuse_body(call.resource);
                self.fetch(call, uri, Some(body)).await
            }
            answer => answer,
        }
    }

    /// Reads a whole document that is not an object: discovery, the server's version.
    pub(crate) async fn document(&self, path: &str, accept: &'static str) -> Result<Bytes, Error> {
        let verb = "discover";
        let target = || path.to_owned();
        let request = Request::get(path)
            .header(header::ACCEPT, accept)
            .extension(RequestClass::Request)
            .body(Body::empty())
            .map_err(|error| {
                Error::new(
                    verb,
                    target(),
                    ErrorKind::Invalid {
                        reason: format!("the request cannot be written: {error}"),
                    },
                )
            })?;
        let response = self.answered(verb, target, request).await?;
        collect(verb, target, response).await
    }

    /// Sends a request and returns the answer unread. An error answer is an error.
    pub(crate) fn answered(
        &self,
        verb: &'static str,
        target: impl Fn() -> String + Copy,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, Error>> {
        let answer = self.dispatch(verb, target, request);
        async move {
            let response = answer.await?;
            if response.status().is_success() {
                return Ok(response);
            }
            // Boxed because it is rare.
            Err(Box::pin(self.response_error(verb, target(), response)).await)
        }
    }

    /// Opens a watch and returns its answer unread. An error answer is an error.
    pub(crate) fn watch<'a>(
        &'a self,
        call: &'a Call<'a>,
        uri: String,
    ) -> BoxFuture<'a, Result<(Encoding, Response<Body>), Error>> {
        Box::pin(self.open(call, RequestClass::Watch, uri, None))
    }

    async fn open(
        &self,
        call: &Call<'_>,
        class: RequestClass,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<(Encoding, Response<Body>), Error> {
        let wanted = match call.has_object_of_kind() && !call.all_fields {
            true => self.inner.encodings.for_answer(call.resource),
            // A kind in the answer that the codec does not know would be an error, and a field that it does not know would be lost.
            false => self.inner.encodings.for_any_kind(call.resource),
        };
        if wanted == Encoding::Json {
            return self.open_as(wanted, call, class, uri, body).await;
        }
        match self
            .open_as(wanted, call, class, uri.clone(), body.clone())
            .await
        {
            Err(error) if is_code(&error, StatusCode::NOT_ACCEPTABLE) => {
                self.inner.encodings.refuse_answer(call.resource);
                self.open_as(Encoding::Json, call, class, uri, body).await
            }
            answer => answer,
        }
    }

    /// Adds a hint to `error` if the API server's authorizer refused the request: the RBAC rule that is missing.
    pub(crate) fn with_missing_rule(&self, error: Error, is_apply: bool) -> Error {
        let status = error.status().filter(|status| status.is_forbidden());
        let Some(mut rule) = status.and_then(|status| MissingRule::of(&status.message)) else {
            return error;
        };
        let guards = &self.inner.guards;
        let everywhere = match guards.is_empty() {
            true => self.inner.all_namespaces,
            false => guards
                .iter()
                .any(|guard| guard.needs_cluster_role(rule.verb, rule.group, rule.resource)),
        };
        if everywhere {
            rule.namespace = None;
        }
        let advice = rule.advice(is_apply);
        error.with_hint(Some(advice.into()))
    }

    /// The error of a call, with what its reader can do, and checked for what it is about.
    pub(crate) fn explained(&self, call: &Call<'_>, error: Error, is_apply: bool) -> Error {
        let error = self.with_missing_rule(error, is_apply);
        call.add_hints(call.check_absence(error))
    }

    async fn open_as(
        &self,
        wanted: Encoding,
        call: &Call<'_>,
        class: RequestClass,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<(Encoding, Response<Body>), Error> {
        let is_apply = body
            .as_ref()
            .is_some_and(|(content_type, _)| content_type.starts_with("application/apply-patch"));
        let request = request(wanted, call, class, uri, body)?;
        let answer = self.answered(call.verb, || call.target(), request).await;
        let response = answer.map_err(|error| self.explained(call, error, is_apply))?;
        match wanted.of_answer(response.headers()) {
            Ok(encoding) => Ok((encoding, response)),
            Err(other) => {
                let mut reason = format!(
                    "it is {other}, not {}: check the cluster's `server`, and proxies on the way",
                    wanted.name()
                );
                if let Some(secrets) = response.extensions().get::<SentSecrets>() {
                    secrets.redact(&mut reason);
                }
                Err(call.undecodable(reason))
            }
        }
    }
}

/// The request of a call.
fn request(
    wanted: Encoding,
    call: &Call<'_>,
    class: RequestClass,
    uri: String,
    body: Option<(&'static str, Bytes)>,
) -> Result<Request<Body>, Error> {
    let unwritable =
        |error: http::Error| call.invalid(format!("the request cannot be written: {error}"));
    let uri = Uri::try_from(uri).map_err(|error| unwritable(error.into()))?;
    let accept = match call.accept(wanted) {
        Cow::Borrowed(accept) => HeaderValue::from_static(accept),
        Cow::Owned(accept) => {
            HeaderValue::try_from(accept).map_err(|error| unwritable(error.into()))?
        }
    };
    let (content_type, body) = match body {
        Some((content_type, bytes)) => (Some(content_type), Body::from(bytes)),
        None => (None, Body::empty()),
    };
    // The builder would move the request for each of its parts.
    let mut request = Request::new(body);
    *request.method_mut() = call.method();
    *request.uri_mut() = uri;
    request.headers_mut().insert(header::ACCEPT, accept);
    if let Some(content_type) = content_type {
        let value = HeaderValue::from_static(content_type);
        request.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    request.extensions_mut().insert(class);
    Ok(request)
}

fn is_code(error: &Error, code: StatusCode) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == code.as_u16())
}
