use std::{convert::Infallible, sync::Arc, time::Duration};

use futures_util::FutureExt;
use http::{HeaderValue, Method, Request, Response, header::CONTENT_LENGTH};
use http_body::Body as _;
use hyper::{body::Incoming, rt::Executor, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Routes, activity::PEER_TIMEOUT, response_body::ResponseBody, slots::Slot};
use crate::client::{Body, Io};

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// The number of requests of one HTTP/2 connection that are processed at once.
const MAX_STREAMS: u32 = 32;
/// The time between two HTTP/2 pings to a peer.
const PING: Duration = Duration::from_secs(30);

/// Spawns the tasks of a connection. They are cancelled at the end of the connection.
#[derive(Clone)]
pub(super) struct Tasks {
    pub(super) tracker: TaskTracker,
    pub(super) ended: CancellationToken,
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        // Boxing the task compiles the code around it only once.
        let (task, ended) = (task.map(drop).boxed(), self.ended.clone());
        let task = async move { ended.run_until_cancelled_owned(task).await };
        self.tracker.spawn(task.map(drop).boxed());
    }
}

/// Removes the body for a HEAD request. HTTP/2 would send it otherwise.
fn without_body(reply: &mut Response<Body>) {
    if let Some(length) = reply.body().size_hint().exact() {
        let length = HeaderValue::from(length);
        reply.headers_mut().insert(CONTENT_LENGTH, length);
    }
    *reply.body_mut() = Body::empty();
}

/// Serves the requests of one connection. It ends when the peer closes it, when a time limit has passed,
/// or after `stop`; in the last case running requests still get their response.
pub(super) async fn serve(
    stream: Box<dyn Io>,
    slot: Arc<Slot>,
    routes: Arc<Routes>,
    tasks: Tasks,
    stop: CancellationToken,
) {
    let _ended = tasks.ended.clone().drop_guard();
    let mut builder = Builder::new(tasks);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(slot.next_head())
        .max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEAD as u32)
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(MAX_HEAD)
        .keep_alive_interval(Some(PING))
        .keep_alive_timeout(PEER_TIMEOUT);
    let activity = slot.activity().clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, slot) = (routes.clone(), slot.clone());
        let open = slot.activity().begin();
        async move {
            let is_head = request.method() == Method::HEAD;
            let request = request.map(Body::new);
            let mut reply = routes.answer(request, || slot.admit(&open)).await;
            if is_head {
                without_body(&mut reply);
            }
            Ok::<_, Infallible>(reply.map(|body| ResponseBody::new(body, open)))
        }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = async {
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    tokio::select! {
        ended = ended => {
            if let Err(error) = ended {
                tracing::trace!(%error, "a connection failed");
            }
        }
        () = activity.is_over() => tracing::trace!("a connection was closed: a time limit has passed, or the peer cancelled too many requests"),
    }
}
