use std::{future::ready, sync::Arc};

use http::{Request, Response};
use tower::{Layer, Service, ServiceExt, service_fn, util::BoxCloneSyncService};

use super::{
    Body, BoxError, Client, Config, Connector, Error,
    client::ClientInner,
    stack::{Dispatch, RequestService},
};

/// Builds a [`Client`].
pub struct ClientBuilder {
    config: Config,
    user_agent: Option<String>,
    connector: Option<Arc<dyn Connector>>,
    layers: Vec<Box<dyn FnOnce(RequestService) -> RequestService + Send>>,
}

impl ClientBuilder {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            user_agent: None,
            connector: None,
            layers: Vec::new(),
        }
    }

    /// Say `user_agent` in front of the framework's own name; the default is the binary's name.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }

    /// Reach the server by `connector` instead of TCP and TLS.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Put `layer` around everything: it sees each request once, however often it is sent. The
    /// layer added last is the outermost.
    #[must_use]
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<RequestService> + Send + 'static,
        L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request<Body>>>::Error: Into<BoxError>,
        <L::Service as Service<Request<Body>>>::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.layers.push(Box::new(move |stack| {
            BoxCloneSyncService::new(
                layer
                    .layer(stack)
                    .map_response(|response: Response<B>| response.map(Body::new))
                    .map_err(Into::into),
            )
        }));
        self
    }

    /// The client.
    ///
    /// # Errors
    /// [`Error::Config`] when a certificate, a key or the user agent cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        let _ = (&self.user_agent, &self.connector);
        let stack = service_fn(|_: Request<Body>| {
            ready(Err::<Response<Body>, BoxError>("no transport yet".into()))
        });
        let stack: Box<dyn Dispatch> = Box::new(stack);
        Ok(Client {
            inner: Arc::new(ClientInner {
                stack,
                default_namespace: self.config.default_namespace.clone(),
                server: self.config.url.to_string(),
                advice_on_401: None,
            }),
        })
    }
}
