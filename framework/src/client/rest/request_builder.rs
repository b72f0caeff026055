use std::{borrow::Cow, fmt};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, header, uri::InvalidUri};
use serde::Serialize;

use super::{
    Answer, AnswerStream, Client,
    request_subject::{RequestSubject, RequestedResource},
    response::collect,
};
use crate::{
    client::{
        Body, Encoding, Error, ErrorKind, Patch,
        request::{RequestClass, url::Query},
        stack::SentSecrets,
    },
    resource::ApiResource,
};

/// One request that no verb of an [`Api`](crate::client::Api) covers; see [`Client::request`].
#[derive(Clone)]
#[must_use = "`send` or `stream` sends the request"]
pub struct RequestBuilder {
    client: Client,
    verb: String,
    path: Option<String>,
    resource: Option<ApiResource>,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<BuiltBody>,
}

#[derive(Clone)]
enum BuiltBody {
    Bytes(String, Bytes),
    Patch(&'static str, Bytes),
    /// The value's own `Serialize` failed.
    Unwritable,
}

/// A request that is ready to be sent.
struct Prepared {
    subject: RequestSubject,
    request: Request<Body>,
    is_apply: bool,
    /// The answer of an API server is the object of the request.
    answers_object: bool,
}

/// The verbs of RBAC for resources.
pub(crate) const RESOURCE_VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
/// The verbs of RBAC for paths.
const PATH_VERBS: &[&str] = &["get", "post", "put", "patch", "delete", "head", "options"];

impl Client {
    /// Begins a request that no verb of an [`Api`](crate::client::Api) covers: client-go's `RESTClient`.
    ///
    /// `verb` is a verb of RBAC. For a [resource](RequestBuilder::resource) it is `get`, `list`, `watch`, `create`,
    /// `update`, `patch`, `delete` or `deletecollection`; for a [path](RequestBuilder::path) it is `get`, `post`, `put`,
    /// `patch`, `delete`, `head` or `options`. [`send`](RequestBuilder::send) sends the request and reads the whole
    /// answer; [`stream`](RequestBuilder::stream) returns the answer as it comes.
    ///
    /// The request passes the same layers as others: guards, deadlines, retries of what changes nothing, credentials,
    /// metrics. If a part of it is missing or not valid, the client sends nothing and the error says which.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Client, Error}, resource::ApiResource};
    /// # async fn example(client: Client, gadgets: ApiResource) -> Result<(), Error> {
    /// use pilothouse::k8s::api::{authorization::v1::SelfSubjectAccessReview, autoscaling::v1::Scale};
    ///
    /// let scale = client
    ///     .request("get")
    ///     .resource(&gadgets)
    ///     .namespace("default")
    ///     .name("a")
    ///     .subresource("scale")
    ///     .send()
    ///     .await?
    ///     .decode::<Scale>()?;
    ///
    /// let healthy = client.request("get").path("/readyz").query("verbose", true).send().await?;
    /// println!("{}", healthy.text()?);
    ///
    /// let review = SelfSubjectAccessReview::default();
    /// let reviews = ApiResource::of::<SelfSubjectAccessReview>();
    /// let answer = client.request("create").resource(&reviews).body(&review).send().await?;
    /// let review: SelfSubjectAccessReview = answer.decode()?;
    /// # drop((scale, review)); Ok(()) }
    /// ```
    pub fn request(&self, verb: impl Into<String>) -> RequestBuilder {
        RequestBuilder {
            client: self.clone(),
            verb: verb.into(),
            path: None,
            resource: None,
            namespace: None,
            name: None,
            subresource: None,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }
}

impl RequestBuilder {
    /// Sets the kind.
    pub fn resource(mut self, resource: &ApiResource) -> Self {
        self.resource = Some(resource.clone());
        self
    }

    /// Sets an absolute path in place of a resource, such as `/version`. The caller has escaped its segments.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the namespace. Without one, `list` and `watch` are about all namespaces.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the name of the object.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the subresource of the object, such as `scale`. For what is behind a `proxy`, use [`path`](Self::path).
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Adds a parameter to the query. A name may occur several times.
    pub fn query(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.query.push((name.into(), value.to_string()));
        self
    }

    /// Adds a header, or replaces the client's own. Without this call, `Accept` is `application/json, */*`.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Client, Error}, resource::ApiResource};
    /// # async fn example(client: Client, pods: ApiResource) -> Result<(), Error> {
    /// let table = client
    ///     .request("list")
    ///     .resource(&pods)
    ///     .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
    ///     .send()
    ///     .await?;
    /// # drop(table); Ok(()) }
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body, as JSON.
    pub fn body<T: Serialize + ?Sized>(mut self, body: &T) -> Self {
        self.body = Some(match Encoding::Json.write(body) {
            Ok(bytes) => BuiltBody::Bytes(Encoding::Json.media_type().to_owned(), bytes),
            Err(_) => BuiltBody::Unwritable,
        });
        self
    }

    /// Sets the body of the verb `patch`.
    pub fn patch(mut self, patch: &Patch) -> Self {
        self.body = Some(match patch.body(Encoding::Json) {
            Ok((content_type, bytes)) => BuiltBody::Patch(content_type, bytes),
            Err(_) => BuiltBody::Unwritable,
        });
        self
    }

    /// Sets a body that is encoded already.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Client, Error}, resource::ApiResource};
    /// # async fn example(client: Client, gadgets: ApiResource, manifest: String) -> Result<(), Error> {
    /// let applied = client
    ///     .request("patch")
    ///     .resource(&gadgets)
    ///     .namespace("default")
    ///     .name("a")
    ///     .query("fieldManager", "example")
    ///     .body_bytes("application/apply-patch+yaml", manifest)
    ///     .send()
    ///     .await?;
    /// # drop(applied); Ok(()) }
    /// ```
    pub fn body_bytes(mut self, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        self.body = Some(BuiltBody::Bytes(content_type.into(), body.into()));
        self
    }

    /// Sends the request and reads the whole answer. It is decoded when the caller asks for it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if a part of the request is missing or not valid; the client has sent nothing. Otherwise as
    /// for typed requests: an error answer of the server is an error, too.
    pub async fn send(self) -> Result<Answer, Error> {
        let client = self.client.clone();
        let prepared = self.prepare(RequestClass::Request)?;
        let (subject, answers_object) = (prepared.subject.clone(), prepared.answers_object);
        let response = client.send_prepared(prepared).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let secrets = response.extensions().get::<SentSecrets>().cloned();
        let bytes = collect(subject.verb(), || subject.target(), response).await?;
        Ok(Answer {
            subject,
            answers_object,
            status,
            headers,
            secrets: secrets.unwrap_or_default(),
            bytes,
        })
    }

    /// Sends the request and returns the answer as it comes: a watch, a log, a long list. The stream has a connection
    /// that only streams use, and no deadline after its head.
    ///
    /// ```no_run
    /// # use pilothouse::{client::{Client, Error}, resource::ApiResource};
    /// # async fn example(client: Client, gadgets: ApiResource) -> Result<(), Error> {
    /// use futures_util::TryStreamExt;
    ///
    /// let watch = client.request("watch").resource(&gadgets).namespace("default");
    /// let mut events = watch.stream().await?.lines();
    /// while let Some(event) = events.try_next().await? {
    ///     println!("{}", String::from_utf8_lossy(&event));
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn stream(self) -> Result<AnswerStream, Error> {
        let client = self.client.clone();
        let prepared = self.prepare(RequestClass::Watch)?;
        let (verb, target) = (prepared.subject.verb(), prepared.subject.target());
        let response = client.send_prepared(prepared).await?;
        Ok(AnswerStream::new(verb, target, response.into_body()))
    }

    fn prepare(self, class: RequestClass) -> Result<Prepared, Error> {
        let subject = self.subject()?;
        let mut query = Query::new(subject.path()?.into_owned());
        let verb = subject.verb();
        if verb == "watch" {
            if class == RequestClass::Request {
                return Err(subject.invalid("a watch has no end: call `stream` in place of `send`"));
            }
            query.flag("watch", true);
        }
        for (name, value) in &self.query {
            if name.is_empty() {
                return Err(subject.invalid("a query parameter has no name"));
            }
            query.pair(name, value);
        }
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method(verb);
        *request.uri_mut() = query.finish().parse().map_err(|error: InvalidUri| {
            subject.invalid(format!("the request cannot be written: {error}"))
        })?;
        let accept = HeaderValue::from_static("application/json, */*");
        request.headers_mut().insert(header::ACCEPT, accept);
        let mut is_apply = false;
        if let Some((content_type, bytes)) = self.checked_body(&subject)? {
            is_apply = content_type.starts_with("application/apply-patch");
            let content_type = HeaderValue::try_from(&*content_type)
                .map_err(|_| subject.invalid("the content type is not a header value"))?;
            request
                .headers_mut()
                .insert(header::CONTENT_TYPE, content_type);
            *request.body_mut() = bytes.into();
        }
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name)
                .map_err(|_| subject.invalid(format!("`{name}` is not the name of a header")))?;
            // The value may be a secret.
            let value = HeaderValue::try_from(value).map_err(|_| {
                subject.invalid(format!(
                    "the value of the header `{name}` has a line end or another control character"
                ))
            })?;
            request.headers_mut().insert(header, value);
        }
        let asks_for_another_form = self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("accept"));
        request.extensions_mut().insert(class);
        Ok(Prepared {
            answers_object: matches!(verb, "get" | "create" | "update" | "patch")
                && subject.call().is_some()
                && !asks_for_another_form,
            subject,
            request,
            is_apply,
        })
    }

    /// Checks the verb, and that there is one subject.
    fn subject(&self) -> Result<RequestSubject, Error> {
        let known =
            |verbs: &[&'static str]| verbs.iter().copied().find(|known| *known == self.verb);
        let any = known(&RESOURCE_VERBS).or_else(|| known(PATH_VERBS));
        let unclear = |reason: &str| {
            let (verb, target) = (any.unwrap_or("send"), "a request");
            let reason = reason.to_owned();
            Err(Error::new(verb, target, ErrorKind::Invalid { reason }))
        };
        let of_object = [&self.namespace, &self.name, &self.subresource];
        match (&self.resource, &self.path) {
            (Some(_), Some(_)) => unclear("it has a resource and a path: leave out one of them"),
            (None, None) => unclear("it has no subject: call `resource` or `path`"),
            (None, Some(_)) if of_object.iter().any(|part| part.is_some()) => unclear(
                "a path is complete: leave out `namespace`, `name` and `subresource`, or call `resource` in place of `path`",
            ),
            (None, Some(path)) => {
                let verb = known(PATH_VERBS);
                let subject = RequestSubject::Path {
                    verb: verb.unwrap_or("send"),
                    path: path.clone(),
                };
                self.with_known_verb(subject, verb, "a path", PATH_VERBS)
            }
            (Some(resource), None) => {
                let verb = known(&RESOURCE_VERBS);
                let subject = RequestSubject::Resource(Box::new(RequestedResource {
                    verb: verb.unwrap_or("send"),
                    resource: resource.clone(),
                    namespace: self.namespace.clone(),
                    name: self.name.clone(),
                    subresource: self.subresource.clone(),
                }));
                self.with_known_verb(subject, verb, "a resource", &RESOURCE_VERBS)
            }
        }
    }

    fn with_known_verb(
        &self,
        subject: RequestSubject,
        verb: Option<&str>,
        what: &str,
        verbs: &[&str],
    ) -> Result<RequestSubject, Error> {
        match verb {
            Some(_) => Ok(subject),
            None => Err(subject.invalid(format!(
                "`{}` is not a verb of {what}: use one of {}",
                self.verb,
                verbs.join(", ")
            ))),
        }
    }

    /// The body with its content type, if the verb may have it.
    fn checked_body(
        &self,
        subject: &RequestSubject,
    ) -> Result<Option<(Cow<'_, str>, Bytes)>, Error> {
        let verb = subject.verb();
        let reads = matches!(verb, "get" | "list" | "watch" | "head" | "options");
        let is_patch = verb == "patch";
        let has_own_type = self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match &self.body {
            None if is_patch => Err(subject.invalid("a patch has a body: call `patch`")),
            None => Ok(None),
            Some(_) if reads => {
                Err(subject.invalid(format!("`{verb}` has no body: leave out the body")))
            }
            Some(BuiltBody::Unwritable) => Err(subject
                .invalid("the body cannot be written: check its map keys and its own `Serialize`")),
            Some(BuiltBody::Patch(..)) if !is_patch => Err(subject.invalid(format!(
                "`{verb}` does not take a patch: call `body`, or use the verb `patch`"
            ))),
            Some(BuiltBody::Bytes(content_type, _))
                if is_patch && content_type == Encoding::Json.media_type() && !has_own_type =>
            {
                Err(subject
                    .invalid("the form of the patch is not known: call `patch` in place of `body`"))
            }
            Some(BuiltBody::Patch(content_type, bytes)) => {
                Ok(Some(((*content_type).into(), bytes.clone())))
            }
            Some(BuiltBody::Bytes(content_type, bytes)) => {
                Ok(Some((content_type.into(), bytes.clone())))
            }
        }
    }
}

fn method(verb: &str) -> Method {
    match verb {
        "create" | "post" => Method::POST,
        "update" | "put" => Method::PUT,
        "patch" => Method::PATCH,
        "delete" | "deletecollection" => Method::DELETE,
        "head" => Method::HEAD,
        "options" => Method::OPTIONS,
        _ => Method::GET,
    }
}

impl Client {
    async fn send_prepared(&self, prepared: Prepared) -> Result<http::Response<Body>, Error> {
        let Prepared {
            subject,
            request,
            is_apply,
            ..
        } = prepared;
        let answer = self.answered(subject.verb(), || subject.target(), request);
        answer.await.map_err(|error| match subject.call() {
            Some(call) => self.explained(&call, error, is_apply),
            None => error,
        })
    }
}

/// Shows verb and subject, because query, headers and body may hold secrets.
impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.subject().map(|subject| subject.target());
        let target = target.unwrap_or_else(|error| error.target().to_owned());
        write!(f, "RequestBuilder({} {target})", self.verb)
    }
}
