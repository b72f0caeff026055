use std::{borrow::Cow, fmt, future::Future, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::Service;

use super::{
    AccessGuard, Body, BoxError, ClientBuilder, Config, ConfigError, ConnectError, Deadlines,
    Error, NotDeclared,
    blueprint::Blueprint,
    call::Call,
    class::Class,
    codec::{Agreed, Encoded, Encoding},
    decode::decode_status,
    reconnections::{Reachability, Reconnections},
    stack::{self, Closed, Dispatch, FenceLayer, NotGzip, TimedOut, TotalDeadline},
    transport::Lagged,
};
use crate::resource::Status;

/// No answer is read further than this, packed as it may have come. It is room for a hundred
/// thousand Pods in one list.
const LONGEST_ANSWER: usize = 1024 * 1024 * 1024;
/// No answer that is an error is read further than this.
const LONGEST_ERROR: usize = 1024 * 1024;
/// How much of an answer that is no `Status` an error shows.
const SHOWN: usize = 120;

/// A connection to an API server, shared by everything that talks to it.
///
/// Cheap to clone. Connections are opened when they are needed; the first request therefore has to
/// be made within a tokio runtime, and the connections end with the last clone.
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<ClientInner>,
}

pub(super) struct ClientInner {
    pub(super) stack: Box<dyn Dispatch>,
    pub(super) default_namespace: String,
    pub(super) server: String,
    /// Shared by all clients made of this one: it is about the server.
    pub(super) agreed: Arc<Agreed>,
    /// Shared like that.
    pub(super) reachability: Arc<Reachability>,
    /// What to do when the server does not know who the client is.
    pub(super) advice_on_401: Option<Box<str>>,
    /// What the stack was made of.
    pub(super) blueprint: Blueprint,
    pub(super) guards: Arc<[Arc<AccessGuard>]>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.inner.server)
    }
}

impl Client {
    /// A client of the server that `config` names.
    ///
    /// # Errors
    /// [`Error::Config`] when a certificate or a key in it cannot be read.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::builder(config).build()
    }

    /// A client with more than its configuration to say.
    pub fn builder(config: Config) -> ClientBuilder {
        ClientBuilder::new(config)
    }

    /// A client whose requests are answered by `service` and go nowhere else: for tests, and for those
    /// who bring a stack of their own.
    ///
    /// What `service` is given has path and query only. [`ClientBuilder::stack`] makes the same of a
    /// client with a configuration.
    ///
    /// ```
    /// use http::{Request, Response};
    /// use pilothouse::client::{Api, Body, Client};
    /// use pilothouse::k8s::api::core::v1::ConfigMap;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::from_service(tower::service_fn(|request: Request<Body>| async move {
    ///     assert_eq!(request.uri(), "/api/v1/namespaces/default/configmaps/settings");
    ///     let object = r#"{"metadata": {"name": "settings"}, "data": {"colour": "blue"}}"#;
    ///     Ok::<_, std::convert::Infallible>(Response::new(object.to_owned()))
    /// }));
    /// let settings = Api::<ConfigMap>::namespaced(&client, "default").get("settings").await?;
    /// assert_eq!(settings.data.unwrap()["colour"], "blue");
    /// # Ok(()) }
    /// ```
    pub fn from_service<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let blueprint = Blueprint::Service(stack::service(service));
        Self {
            inner: Arc::new(ClientInner {
                stack: blueprint.stack(),
                blueprint,
                guards: Arc::default(),
                default_namespace: "default".to_owned(),
                server: "a service of the program".to_owned(),
                agreed: Arc::default(),
                reachability: Arc::default(),
                advice_on_401: None,
            }),
        }
    }

    /// The namespace to use where none is named.
    pub fn default_namespace(&self) -> &str {
        &self.inner.default_namespace
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// A client of the same settings, credentials and metrics on connections of its own, with
    /// deadlines of its own.
    ///
    /// Nothing that others send can make its requests wait: no full connection, no watch that
    /// nobody reads, no pause that the server asked others to make. Leader election renews its lease
    /// this way, and so may anything else that has to be in time. Of a client made
    /// [from a service](Self::from_service), which has neither, this is a clone.
    ///
    /// ```
    /// # use pilothouse::client::{Client, Deadlines};
    /// # fn example(client: Client) {
    /// use std::time::Duration;
    ///
    /// let urgent = client.apart(Deadlines::default().total(Duration::from_secs(5)));
    /// # }
    /// ```
    #[must_use]
    pub fn apart(&self, deadlines: Deadlines) -> Self {
        self.with(self.inner.blueprint.apart(&deadlines))
    }

    /// A client on the same connections that sends only what `may_send` lets pass. It is asked
    /// before each attempt, after all waiting: before the credentials are added, and again when the
    /// connection is there. Where it refuses, nothing is sent, and the request fails with
    /// [`Error::Fenced`]. A client that is fenced already asks both.
    ///
    /// `may_send` is called before each attempt, and before each write to a connection on which a request of this client
    /// waits for its answer. It has to be quick, and must not send requests itself. When it refuses such a write, the
    /// connection ends.
    ///
    /// ```
    /// # use pilothouse::client::Client;
    /// # fn example(client: Client) {
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    ///
    /// let open = Arc::new(AtomicBool::new(true));
    /// let asked = open.clone();
    /// let fenced = client.fenced(move || match asked.load(Ordering::SeqCst) {
    ///     true => Ok(()),
    ///     false => Err("maintenance has begun".into()),
    /// });
    /// # }
    /// ```
    #[must_use]
    pub fn fenced(
        &self,
        may_send: impl Fn() -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.with(self.inner.blueprint.fenced(FenceLayer::new(may_send)))
    }

    /// A client on the same connections that sends only what `guard` has been told of. What it refuses
    /// fails with [`Error::NotDeclared`]; nothing is sent then. A client that is guarded already asks
    /// both.
    ///
    /// ```
    /// # use pilothouse::client::Client;
    /// # fn example(client: Client) {
    /// use std::sync::Arc;
    /// use pilothouse::{client::AccessGuard, k8s::api::core::v1::ConfigMap, resource::AccessRule};
    ///
    /// let reads = AccessRule::of::<ConfigMap>(["get", "list", "watch"]);
    /// let guard = Arc::new(AccessGuard::new(&reads.into(), None));
    /// let reader = client.guarded(guard.clone());
    /// assert_eq!(guard.unused().to_string(), "configmaps: get, list, watch");
    /// # }
    /// ```
    #[must_use]
    pub fn guarded(&self, guard: Arc<AccessGuard>) -> Self {
        let guards = self.inner.guards.iter().cloned().chain([guard]).collect();
        self.made(self.inner.blueprint.clone(), guards)
    }

    /// Shortens pauses after failed connections to when this client's server answers again. Clients that are made of
    /// one another share what they know.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, Error};
    /// # async fn example(client: Client, mut fetch: impl AsyncFnMut() -> Result<u32, Error>) -> u32 {
    /// use std::time::Duration;
    ///
    /// let mut reconnections = client.reconnections();
    /// loop {
    ///     reconnections.begin();
    ///     match fetch().await {
    ///         Ok(found) => return found,
    ///         Err(Error::Connect { .. }) => reconnections.pause(Duration::from_secs(30)).await,
    ///         Err(_) => tokio::time::sleep(Duration::from_secs(30)).await,
    ///     }
    /// }
    /// # }
    /// ```
    pub fn reconnections(&self) -> Reconnections {
        self.inner.reachability.reconnections()
    }

    fn with(&self, blueprint: Blueprint) -> Self {
        self.made(blueprint, self.inner.guards.clone())
    }

    fn made(&self, blueprint: Blueprint, guards: Arc<[Arc<AccessGuard>]>) -> Self {
        Self {
            inner: Arc::new(ClientInner {
                stack: stack::guarded(blueprint.stack(), guards.clone()),
                guards,
                blueprint,
                default_namespace: self.inner.default_namespace.clone(),
                server: self.inner.server.clone(),
                agreed: self.inner.agreed.clone(),
                reachability: self.inner.reachability.clone(),
                advice_on_401: self.inner.advice_on_401.clone(),
            }),
        }
    }

    /// Sends a request whose URI is only path and query, and gives back whatever the server
    /// answers, errors included.
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
    /// The same as of typed requests, but never [`Error::Api`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        let verb = "send";
        let target = format!("{} {}", request.method(), request.uri().path());
        self.dispatch(verb, || target, request).await
    }

    async fn dispatch(
        &self,
        verb: &'static str,
        target: impl FnOnce() -> String,
        request: Request<Body>,
    ) -> Result<Response<Body>, Error> {
        let answer = self.inner.stack.dispatch(request).await;
        let answer = answer.map_err(|error| failure(verb, target(), error));
        self.inner.reachability.note(&answer);
        answer
    }

    /// A whole answer; the server's errors are errors.
    pub(super) async fn fetch(
        &self,
        call: &Call<'_>,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Encoded, Error> {
        let (encoding, response) = self.open(call, Class::Request, uri, body).await?;
        let bytes = collect(call.verb, || call.target(), response).await?;
        Ok(Encoded { encoding, bytes })
    }

    /// A whole answer to a body that is written in what the server takes: once more, as JSON, when
    /// it refuses the other (415). Nothing has been done then.
    pub(super) async fn submit(
        &self,
        call: &Call<'_>,
        uri: String,
        write: impl Fn(Encoding) -> Result<(&'static str, Bytes), Error>,
    ) -> Result<Encoded, Error> {
        let encoding = self.inner.agreed.for_body(call.resource);
        let body = write(encoding)?;
        if encoding == Encoding::Json {
            return self.fetch(call, uri, Some(body)).await;
        }
        let media_type = body.0;
        match self.fetch(call, uri.clone(), Some(body)).await {
            Err(error) if is_code(&error, StatusCode::UNSUPPORTED_MEDIA_TYPE) => {
                let body = write(Encoding::Json)?;
                // It was JSON already, of a form that the server does not take.
                if body.0 == media_type {
                    return Err(error);
                }
                self.inner.agreed.refuse_body(call.resource);
                self.fetch(call, uri, Some(body)).await
            }
            answer => answer,
        }
    }

    /// A whole document about no object: discovery, the server's version.
    pub(super) async fn document(&self, path: &str, accept: &'static str) -> Result<Bytes, Error> {
        let verb = "discover";
        let target = || path.to_owned();
        let request = Request::get(path)
            .header(header::ACCEPT, accept)
            .extension(Class::Request)
            .body(Body::empty())
            .map_err(|error| Error::Invalid {
                verb,
                target: target(),
                reason: format!("the request cannot be written: {error}"),
            })?;
        let response = self.answered(verb, target, request).await?;
        collect(verb, target, response).await
    }

    /// The answer to a request as it is; the server's errors are errors.
    pub(super) async fn answered(
        &self,
        verb: &'static str,
        target: impl Fn() -> String,
        request: Request<Body>,
    ) -> Result<Response<Body>, Error> {
        let response = self.dispatch(verb, &target, request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(verb, target(), response).await)
    }

    /// The body of a watch; the server's errors are errors.
    pub(super) async fn watch(
        &self,
        call: &Call<'_>,
        uri: String,
    ) -> Result<(Encoding, Body), Error> {
        let (encoding, response) = self.open(call, Class::Watch, uri, None).await?;
        Ok((encoding, response.into_body()))
    }

    async fn open(
        &self,
        call: &Call<'_>,
        class: Class,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<(Encoding, Response<Body>), Error> {
        let wanted = self.inner.agreed.for_answer(call.resource);
        if wanted == Encoding::Json {
            return self.open_as(wanted, call, class, uri, body).await;
        }
        let answer = self.open_as(wanted, call, class, uri.clone(), body.clone());
        match answer.await {
            Err(error) if is_code(&error, StatusCode::NOT_ACCEPTABLE) => {
                self.inner.agreed.refuse_answer(call.resource);
                self.open_as(Encoding::Json, call, class, uri, body).await
            }
            answer => answer,
        }
    }

    async fn open_as(
        &self,
        wanted: Encoding,
        call: &Call<'_>,
        class: Class,
        uri: String,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<(Encoding, Response<Body>), Error> {
        let mut request = Request::builder().method(call.method()).uri(uri);
        request = match call.accept(wanted) {
            Cow::Borrowed(accept) => {
                request.header(header::ACCEPT, HeaderValue::from_static(accept))
            }
            Cow::Owned(accept) => request.header(header::ACCEPT, accept),
        };
        if let Some((content_type, _)) = &body {
            let content_type = HeaderValue::from_static(content_type);
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let body = body.map_or_else(Body::empty, |(_, bytes)| Body::from(bytes));
        let mut request = request
            .body(body)
            .map_err(|error| call.invalid(format!("the request cannot be written: {error}")))?;
        request.extensions_mut().insert(class);
        let answer = self.answered(call.verb, || call.target(), request).await;
        let response = answer.map_err(|error| call.advise(error))?;
        match encoding(response.headers()) {
            Ok(encoding) => Ok((encoding, response)),
            Err(other) => Err(call.undecodable(format!(
                "it is {other}, not {}: check the cluster's `server`, and proxies on the way",
                wanted.name()
            ))),
        }
    }

    /// The error that an answer tells of, which is a `Status` when an API server wrote it.
    pub(super) async fn refusal(
        &self,
        verb: &'static str,
        target: String,
        response: Response<Body>,
    ) -> Error {
        let (head, body) = response.into_parts();
        let deadline = head.extensions.get::<TotalDeadline>().copied();
        let body = match within(deadline, Limited::new(body, LONGEST_ERROR).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            // The code says enough.
            Ok(Err(error)) if error.is::<LengthLimitError>() => Bytes::new(),
            Ok(Err(error)) | Err(error) => return failure(verb, target, error),
        };
        let told = Encoded {
            encoding: encoding(&head.headers).unwrap_or_default(),
            bytes: body.clone(),
        };
        let mut status = decode_status(&told)
            .ok()
            .filter(|status| {
                status.code != 0 || !status.message.is_empty() || !status.reason.is_empty()
            })
            .unwrap_or_else(|| no_status(head.status, &head.headers, &body));
        if status.code == 0 {
            status.code = head.status.as_u16();
        }
        if let Some(after) = super::stack::retry_after(&head.headers) {
            let details = status.details.get_or_insert_default();
            if details.retry_after_seconds == 0 {
                details.retry_after_seconds = after.as_secs().try_into().unwrap_or(u32::MAX);
            }
        }
        let is_cleartext = self.inner.server.starts_with("http://");
        let advice = match head.status {
            StatusCode::UNAUTHORIZED => self.inner.advice_on_401.clone(),
            StatusCode::BAD_REQUEST if is_cleartext && wants_tls(&status.message) => {
                // The advice goes on with the sentence.
                let length = status.message.trim_end_matches('.').len();
                status.message.truncate(length);
                Some("begin the cluster's `server` with https://".into())
            }
            _ => None,
        };
        Error::Api {
            verb,
            target,
            status: Box::new(status),
            advice,
        }
    }
}

/// Whether a server says that it expects TLS: these are the sentences of Go's server and of nginx.
fn wants_tls(message: &str) -> bool {
    [
        "HTTP request to an HTTPS server",
        "HTTP request was sent to HTTPS port",
    ]
    .iter()
    .any(|sentence| message.contains(sentence))
}

/// The error of an answer that no API server wrote: a proxy's page, or plain text.
fn no_status(code: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Status {
    let text = String::from_utf8_lossy(body);
    let mut shown = String::new();
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.extend(word.chars().filter(|letter| !letter.is_control()));
        if shown.len() > SHOWN {
            let end = (0..=SHOWN).rev().find(|at| shown.is_char_boundary(*at));
            shown.truncate(end.unwrap_or(0));
            shown.push('…');
            break;
        }
    }
    let message = match (content_type(headers), shown.is_empty()) {
        (_, true) => String::new(),
        (Some("text/plain") | None, false) => shown,
        (Some(content_type), false) => {
            // Anything but a page or a line of text may be an object, a Secret for one.
            let shown = if content_type.starts_with("text/") {
                format!(" (\"{shown}\")")
            } else {
                String::new()
            };
            format!(
                "HTTP {} with {content_type} instead of an API server's answer{shown}: check the cluster's `server`, and proxies on the way",
                code.as_u16()
            )
        }
    };
    Status::from_code(code.as_u16(), message)
}

/// The encoding of a body, JSON if it says nothing; or what it is instead.
fn encoding(headers: &http::HeaderMap) -> Result<Encoding, &str> {
    let Some(media_type) = content_type(headers) else {
        return Ok(Encoding::Json);
    };
    Encoding::of(media_type).ok_or(media_type)
}

fn is_code(error: &Error, code: StatusCode) -> bool {
    error
        .status()
        .is_some_and(|status| status.code == code.as_u16())
}

/// The media type of a body, without its parameters.
fn content_type(headers: &http::HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let media_type = value.split(';').next()?.trim();
    (!media_type.is_empty()).then_some(media_type)
}

/// The whole body of an answer.
pub(super) async fn collect(
    verb: &'static str,
    target: impl Fn() -> String,
    response: Response<Body>,
) -> Result<Bytes, Error> {
    if let Some(bytes) = response.body().whole() {
        return Ok(bytes.clone());
    }
    let deadline = response.extensions().get::<TotalDeadline>().copied();
    let body = Limited::new(response.into_body(), LONGEST_ANSWER);
    match within(deadline, body.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Error::Decode {
            verb,
            target: target(),
            reason: format!(
                "it is longer than {} MiB: ask for less at a time (`ListParams::limit`)",
                LONGEST_ANSWER >> 20
            ),
        }),
        Ok(Err(error)) | Err(error) => Err(failure(verb, target(), error)),
    }
}

/// What came of `future` by the deadline.
async fn within<F: Future>(
    deadline: Option<TotalDeadline>,
    future: F,
) -> Result<F::Output, BoxError> {
    let Some(deadline) = deadline else {
        return Ok(future.await);
    };
    tokio::time::timeout_at(deadline.at, future)
        .await
        .map_err(|_| deadline.passed().into())
}

/// The error of a request, or of the reading of its answer.
pub(super) fn failure(verb: &'static str, target: String, error: BoxError) -> Error {
    let error = match error.downcast::<ConnectError>() {
        Ok(source) => {
            return Error::Connect {
                verb,
                target,
                source: *source,
            };
        }
        Err(error) => error,
    };
    let error = match error.downcast::<ConfigError>() {
        Ok(error) => return Error::Config(*error),
        Err(error) => error,
    };
    let error = match error.downcast::<Closed>() {
        Ok(closed) => {
            return Error::Fenced {
                verb,
                target,
                source: closed.0,
            };
        }
        Err(error) => error,
    };
    let error = match error.downcast::<NotDeclared>() {
        Ok(source) => {
            return Error::NotDeclared {
                verb,
                target,
                source,
            };
        }
        Err(error) => error,
    };
    if let Some(&Lagged(after)) = error.downcast_ref() {
        return Error::Lagged {
            verb,
            target,
            after,
        };
    }
    if let Some(not_gzip) = error.downcast_ref::<NotGzip>() {
        return Error::Decode {
            verb,
            target,
            reason: not_gzip.to_string(),
        };
    }
    match error.downcast_ref::<TimedOut>().copied() {
        Some(TimedOut { deadline, after }) => Error::Timeout {
            verb,
            target,
            deadline,
            after,
        },
        None => Error::Transport {
            verb,
            target,
            source: error,
        },
    }
}
