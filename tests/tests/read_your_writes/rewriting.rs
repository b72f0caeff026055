//! Clients that change resource versions between client and server.

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use pilothouse::{
    client::{Body, BoxError, Client, Config, Encoding, RequestService},
    testing::Cluster,
};
use std::sync::Arc;
use tower::ServiceBuilder;

/// Returns a client that sees resource versions without an order: each starts with `x`.
pub(crate) fn opaque(cluster: &Cluster) -> Client {
    let layer = ServiceBuilder::new()
        .map_request(|request: Request<Body>| {
            let (mut parts, body) = request.into_parts();
            let uri = parts.uri.to_string();
            let uri: Uri = uri
                .replace("resourceVersion=x", "resourceVersion=")
                .parse()
                .unwrap();
            parts.uri = uri;
            let plain =
                |text: &str| text.replace(r#""resourceVersion":"x"#, r#""resourceVersion":""#);
            Request::from_parts(parts, through(body, plain))
        })
        .map_response(|response: Response<Body>| {
            let mark = |text: &str| {
                let marked = text.replace(r#""resourceVersion":""#, r#""resourceVersion":"x"#);
                marked.replace(r#""resourceVersion":"x""#, r#""resourceVersion":"""#)
            };
            answered(response, mark)
        });
    client(cluster, layer)
}

/// Returns a client that gets the first version of an object for each get.
pub(crate) fn put_back(cluster: &Cluster) -> Client {
    let layer = tower::layer::layer_fn(|inner: RequestService| {
        tower::service_fn(move |request: Request<Body>| {
            let inner = inner.clone();
            let is_question = request.method() == Method::GET
                && request.uri().path().ends_with("/configmaps/web");
            async move {
                let response = tower::ServiceExt::oneshot(inner, request).await?;
                if !is_question {
                    return Ok(response);
                }
                let first = |text: &str| {
                    let (before, after) = text.split_once(r#""resourceVersion":""#).unwrap();
                    let (_, after) = after.split_once('"').unwrap();
                    format!(r#"{before}"resourceVersion":"1"{after}"#)
                };
                Ok::<_, BoxError>(answered(response, first))
            }
        })
    });
    client(cluster, layer)
}

fn client<L, S, B>(cluster: &Cluster, layer: L) -> Client
where
    L: tower::Layer<RequestService, Service = S> + Send + Sync + 'static,
    S: tower::Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let sandbox = cluster.sandbox().clone();
    let connector = Arc::new(move || Ok(sandbox.connect()));
    let config = Config::new(Uri::from_static("http://sandbox"));
    let builder = Client::builder(config).connector(connector).layer(layer);
    // The layers change text.
    builder.encoding(Encoding::Json).build().unwrap()
}

fn answered(
    mut response: Response<Body>,
    change: impl Fn(&str) -> String + Send + 'static,
) -> Response<Body> {
    response.headers_mut().remove(http::header::CONTENT_LENGTH);
    response.map(|body| through(body, change))
}

/// Changes every piece of a body. The objects of these tests are so small that none is split into two pieces.
fn through(body: Body, change: impl Fn(&str) -> String + Send + 'static) -> Body {
    Body::new(body.map_frame(move |frame| {
        frame.map_data(|data| Bytes::from(change(std::str::from_utf8(&data).unwrap())))
    }))
}
