use std::{convert::Infallible, sync::Arc, time::Duration};

use futures_util::FutureExt;
use http::{HeaderValue, Method, Request, header::CONTENT_LENGTH};
use http_body::Body as _;
use http_body_util::Full;
use hyper::{body::Incoming, rt::Executor, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Reply, Routes, activity::HEAD_TIMEOUT, answer_body::AnswerBody, slots::Slot};
use crate::client::Io;

/// How large the head of a request may be, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// How many requests of one HTTP/2 connection are answered at once.
const MAX_STREAMS: u32 = 32;
/// How often a peer of HTTP/2 is asked whether it lives.
const PING: Duration = Duration::from_secs(30);

/// Where the tasks of connections run: none outlives its connection.
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
        // Boxed, so that the code around it is compiled once.
        let (task, ended) = (task.map(drop).boxed(), self.ended.clone());
        let task = async move { ended.run_until_cancelled_owned(task).await };
        self.tracker.spawn(task.map(drop).boxed());
    }
}

/// What HEAD is answered: of HTTP/2's own accord a body would follow.
fn without_body(reply: &mut Reply) {
    let length = reply.body().size_hint().exact().unwrap_or_default();
    reply
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(length));
    *reply.body_mut() = Full::default();
}

/// Answers what is asked on one connection, until it ends, its time is over, or `stop`: then what was begun is still
/// answered.
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
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEAD as u32)
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(MAX_HEAD)
        .keep_alive_interval(Some(PING))
        .keep_alive_timeout(HEAD_TIMEOUT);
    let activity = slot.activity().clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, slot) = (routes.clone(), slot.clone());
        let open = slot.activity().begin();
        async move {
            // Nothing that is served has a use for a body.
            let (head, _) = request.into_parts();
            let is_head = head.method == Method::HEAD;
            let mut reply = routes.answer(head, || slot.admit(&open)).await;
            if is_head {
                without_body(&mut reply);
            }
            Ok::<_, Infallible>(reply.map(|body| AnswerBody::new(body, open)))
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
                tracing::trace!(%error, "connection ended");
            }
        }
        () = activity.is_over() => tracing::trace!("connection ended: its time was over"),
    }
}
