//! A client whose server answers with the bytes of an input.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use pilothouse::client::{Body, BoxError, Client};
use tokio::runtime::Runtime;

/// The answer of a server.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media_type: &'static str,
    /// The body in the chunks of the transport.
    pub(crate) pieces: Vec<Bytes>,
}

impl Answer {
    pub(crate) fn json(body: &[u8]) -> Self {
        Self::of("application/json", body)
    }

    pub(crate) fn cbor(body: &[u8]) -> Self {
        Self::of("application/cbor", body)
    }

    pub(crate) fn protobuf(body: &[u8]) -> Self {
        Self::of("application/vnd.kubernetes.protobuf", body)
    }

    fn of(media_type: &'static str, body: &[u8]) -> Self {
        Self {
            status: 200,
            media_type,
            pieces: vec![Bytes::copy_from_slice(body)],
        }
    }
}

/// Returns a client that gets `answer` to every request.
pub(crate) fn client(answer: Answer) -> Client {
    Client::from_service(tower::service_fn(move |_: Request<Body>| {
        std::future::ready(Ok::<_, BoxError>(response(&answer)))
    }))
}

/// Returns a client that gets the answer for a path, and 404 for every other path.
pub(crate) fn client_of_paths(answers: HashMap<String, Answer>) -> Client {
    let missing = Answer {
        status: 404,
        ..Answer::of("text/plain", b"404 page not found")
    };
    Client::from_service(tower::service_fn(move |request: Request<Body>| {
        let answer = answers.get(request.uri().path()).unwrap_or(&missing);
        std::future::ready(Ok::<_, BoxError>(response(answer)))
    }))
}

/// Returns a client that gets back its own body, and the last body that it sent.
pub(crate) fn echo() -> (Client, Arc<Mutex<Bytes>>) {
    let sent = Arc::new(Mutex::new(Bytes::new()));
    let kept = sent.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let kept = kept.clone();
        async move {
            let header = request.headers().get(http::header::CONTENT_TYPE).cloned();
            let body = request.into_body().collect().await?.to_bytes();
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = body.clone();
            let mut response = Response::new(Body::from(body));
            let headers = response.headers_mut();
            headers.extend(header.map(|header| (http::header::CONTENT_TYPE, header)));
            Ok::<_, BoxError>(response)
        }
    });
    let config = pilothouse::client::Config::new(http::Uri::from_static("http://server"));
    let client = Client::builder(config)
        .encoding(pilothouse::client::Encoding::Cbor)
        .stack(move |_| service.clone())
        .build();
    (client.expect("a configuration that needs no file"), sent)
}

fn response(answer: &Answer) -> Response<Body> {
    let body = match &answer.pieces[..] {
        [] => Body::empty(),
        [whole] => Body::from(whole.clone()),
        pieces => {
            let frames = pieces
                .iter()
                .cloned()
                .map(Frame::data)
                .collect::<Vec<_>>()
                .into_iter();
            let frames = frames.map(Ok::<_, BoxError>);
            Body::new(StreamBody::new(futures_util::stream::iter(frames)))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(answer.status).expect("a status");
    let media_type = http::HeaderValue::from_static(answer.media_type);
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, media_type);
    response
}

/// Returns the output of a future that only waits for these answers.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    future.now_or_never().expect("the answer is there at once")
}

/// Returns the runtime for timers and for reading files.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    })
}
