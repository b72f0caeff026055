use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use tower::Service;

use super::{builder::ClientBuilder, stack_factory::StackFactory};
use crate::{
    client::{
        AccessGuard, Body, BoxError, Config, Deadlines, Decoder, Error,
        codec::NegotiatedEncodings,
        retry::{Reachability, Reconnections},
        stack::{self, Dispatch, FenceLayer, SentSecrets},
    },
    clock::Clock,
    resource::{ApiResource, ObjectMeta},
};

/// A handle to an API server, shared by all code that sends requests to it.
///
/// Cheap to clone. The client opens connections when they are needed. So the first request must be made within a tokio
/// runtime. The connections end with the last clone.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<ClientInner>,
    /// Decodes what is large.
    pub(crate) decoder: Decoder,
    /// Told of the objects in answers.
    pub(crate) on_objects: Option<Arc<OnObjects>>,
}

/// Called with the objects of one answer: with one, or with those of a list.
pub(crate) type OnObjects = dyn Fn(&ApiResource, &[&ObjectMeta]) + Send + Sync;

pub(crate) struct ClientInner {
    pub(crate) stack: Box<dyn Dispatch>,
    pub(crate) default_namespace: String,
    pub(crate) server: String,
    /// Shared with the clients derived from this one, because it describes the server.
    pub(crate) encodings: Arc<NegotiatedEncodings>,
    /// Shared in the same way.
    pub(crate) reachability: Arc<Reachability>,
    /// What the user can do if the server does not know the identity of the client.
    pub(crate) hint_on_401: Option<Box<str>>,
    /// Builds the stacks of clients derived from this one.
    pub(crate) stack_factory: StackFactory,
    pub(crate) guards: Arc<[Arc<AccessGuard>]>,
    /// The program works in all namespaces. A missing rule then belongs into a ClusterRole.
    pub(crate) all_namespaces: bool,
    pub(crate) clock: Clock,
}

impl ClientInner {
    /// Sends a request through the stack. Credentials that the caller has put into the request do not appear in errors. The
    /// layer that adds the client's own credentials does the same for those.
    pub(crate) fn answer(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, BoxError>> {
        let secrets = SentSecrets::of(&request);
        let answer = self.stack.dispatch(request);
        async move {
            let answer = answer.await;
            match secrets.is_empty() {
                true => answer,
                false => secrets.guard(answer, |_| true),
            }
        }
    }
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
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) if a certificate or a key in it cannot be read.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::builder(config).build()
    }

    /// A builder for a client with more settings than its configuration.
    pub fn builder(config: Config) -> ClientBuilder {
        ClientBuilder::new(config)
    }

    /// A client that gives all requests to `service`: for tests, and for programs with a stack of their own.
    ///
    /// The URI of such a request has only path and query. The client does not know credentials that `service` adds, so
    /// `service` must remove them from its errors and from the texts of its answers. To replace the stack of a client with a configuration, use
    /// [`ClientBuilder::stack`].
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
        let stack_factory = StackFactory::Service(stack::service(service));
        Self {
            inner: Arc::new(ClientInner {
                stack: stack_factory.stack(),
                stack_factory,
                guards: Arc::default(),
                default_namespace: "default".to_owned(),
                server: "a service of the program".to_owned(),
                encodings: Arc::default(),
                reachability: Arc::default(),
                hint_on_401: None,
                all_namespaces: false,
                clock: Clock::default(),
            }),
            decoder: Decoder::default(),
            on_objects: None,
        }
    }

    /// The namespace for requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.inner.default_namespace
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The clock of this client and of everything that works with it: Events, conditions, reconciles. The default is the
    /// [system's clock](Clock::system).
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// A client on the same connections, with another clock. For tests: an operator that gets this client writes the times of
    /// `clock` into its objects. Credentials, certificates and logs keep the system's clock.
    #[must_use]
    pub fn with_clock(&self, clock: Clock) -> Self {
        let (stack_factory, guards) = (self.inner.stack_factory.clone(), self.inner.guards.clone());
        self.derive(stack_factory, guards, self.inner.all_namespaces, clock)
    }

    /// A client with the same settings, credentials and metrics, but with its own connections and `deadlines`.
    ///
    /// No other request can delay its requests: not a full connection, not a watch that is not read, not a pause that
    /// the server demanded. Leader election renews its lease with such a client. Use one for other requests that must
    /// be in time. For a client made [from a service](Self::from_service), this is a clone.
    ///
    /// ```
    /// # use pilothouse::client::{Client, Deadlines};
    /// # fn example(client: Client) {
    /// use std::time::Duration;
    ///
    /// let urgent = client.with_own_connections(Deadlines::default().total(Duration::from_secs(5)));
    /// # }
    /// ```
    #[must_use]
    pub fn with_own_connections(&self, deadlines: Deadlines) -> Self {
        self.with(self.inner.stack_factory.with_own_connections(&deadlines))
    }

    /// A client on the same connections that sends a request only if `may_send` returns `Ok`. If it returns an error,
    /// the client sends nothing, and the request fails with [`ErrorKind::Fenced`](crate::client::ErrorKind::Fenced). A client that is already fenced
    /// checks both conditions.
    ///
    /// The client calls `may_send` before each attempt, after all waiting: before it adds the credentials, and again
    /// when it has a connection. It also calls it before each write to a connection on which a request of this client
    /// waits for its answer. If `may_send` refuses such a write, the connection ends. `may_send` must be quick, and
    /// must not send requests itself.
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
        self.with(self.inner.stack_factory.fenced(FenceLayer::new(may_send)))
    }

    /// A client on the same connections that sends only the requests that `guard` allows. Other requests fail with
    /// [`ErrorKind::NotDeclared`](crate::client::ErrorKind::NotDeclared), and the client sends nothing. A client that is already guarded checks both guards.
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
        let stack_factory = self.inner.stack_factory.clone();
        self.derive(
            stack_factory,
            guards,
            self.inner.all_namespaces,
            self.clock().clone(),
        )
    }

    /// Returns a value that shortens pauses after failed connections as soon as the server answers another request.
    /// Clients derived from one another share what they know about the server.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Client, Error, ErrorKind};
    /// # async fn example(client: Client, mut fetch: impl AsyncFnMut() -> Result<u32, Error>) -> u32 {
    /// use std::time::Duration;
    ///
    /// let mut reconnections = client.reconnections();
    /// loop {
    ///     reconnections.begin();
    ///     match fetch().await {
    ///         Ok(found) => return found,
    ///         Err(error) if matches!(error.kind(), ErrorKind::Connect(_)) => reconnections.pause(Duration::from_secs(30)).await,
    ///         Err(_) => tokio::time::sleep(Duration::from_secs(30)).await,
    ///     }
    /// }
    /// # }
    /// ```
    pub fn reconnections(&self) -> Reconnections {
        self.inner.reachability.reconnections()
    }

    /// A client of a program that works in all namespaces: for the hints of its errors.
    #[must_use]
    pub(crate) fn in_all_namespaces(&self) -> Self {
        let (stack_factory, guards) = (self.inner.stack_factory.clone(), self.inner.guards.clone());
        self.derive(stack_factory, guards, true, self.clock().clone())
    }

    /// The same client, which calls `function` with the objects that an [`Api`](crate::client::Api) of it reads or writes.
    #[must_use]
    pub(crate) fn on_objects(
        &self,
        function: impl Fn(&ApiResource, &[&ObjectMeta]) + Send + Sync + 'static,
    ) -> Self {
        Self {
            on_objects: Some(Arc::new(function)),
            ..self.clone()
        }
    }

    fn with(&self, stack_factory: StackFactory) -> Self {
        let (guards, all_namespaces) = (self.inner.guards.clone(), self.inner.all_namespaces);
        self.derive(stack_factory, guards, all_namespaces, self.clock().clone())
    }

    fn derive(
        &self,
        stack_factory: StackFactory,
        guards: Arc<[Arc<AccessGuard>]>,
        all_namespaces: bool,
        clock: Clock,
    ) -> Self {
        Self {
            inner: Arc::new(ClientInner {
                stack: stack::guarded(stack_factory.stack(), guards.clone()),
                guards,
                all_namespaces,
                stack_factory,
                default_namespace: self.inner.default_namespace.clone(),
                server: self.inner.server.clone(),
                encodings: self.inner.encodings.clone(),
                reachability: self.inner.reachability.clone(),
                hint_on_401: self.inner.hint_on_401.clone(),
                clock,
            }),
            decoder: self.decoder.clone(),
            on_objects: self.on_objects.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::resource::Access;

    #[tokio::test]
    async fn a_client_that_is_made_of_another_one_has_its_clock() {
        let client = Client::from_service(tower::service_fn(|_: Request<Body>| async {
            Ok::<_, BoxError>(Response::new(String::new()))
        }));
        let client = client.with_clock(Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        let guard = Arc::new(AccessGuard::new(&Access::none(), None));
        let derived = [
            client.clone(),
            client.fenced(|| Ok(())),
            client.guarded(guard),
            client.in_all_namespaces(),
            client.with_own_connections(Deadlines::default()),
        ];
        for client in derived {
            assert_eq!(client.clock().now(), Timestamp::UNIX_EPOCH);
        }
    }
}
