use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body::{Body, Frame};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::client::{BoxError, error::ReaderLagged};

/// How often the guard checks whether the caller reads.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// More unread bytes than [`ReaderLagged::UNREAD_LIMIT`] may wait for about this long.
const MAX_UNREAD_TIME: Duration = Duration::from_secs(30);

/// The body of a watch, or of another endless stream such as a log. It ends if its reader is too slow.
///
/// If the caller reads nothing for about 30 s while more than 256 KiB wait, which is the whole window of the stream,
/// the guard resets the stream, frees the bytes and returns [`ReaderLagged`]. Until then the stream does not delay
/// others, because all windows of the streams fit into the window of the connection.
///
/// hyper does not report a full window. So if the reader has not come for a while, a task reads in its place, into a
/// buffer of that size.
pub(super) struct SlowReaderGuard<B> {
    shared: Arc<Mutex<GuardState<B>>>,
    _checker: AbortOnDropHandle<()>,
}

struct GuardState<B> {
    /// `None` after the body ended.
    body: Option<B>,
    /// Frames that the task read in place of the reader.
    ahead: VecDeque<Result<Frame<Bytes>, BoxError>>,
    bytes: usize,
    reader: Waker,
    /// Whether the reader came since the last check.
    came: bool,
    full_since: Option<Instant>,
}

impl<B> SlowReaderGuard<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin + Send + 'static,
{
    /// The guards with the same `began` check at the same times.
    pub(super) fn new(body: B, began: Instant) -> Self {
        let shared = Arc::new(Mutex::new(GuardState {
            body: Some(body),
            ahead: VecDeque::new(),
            bytes: 0,
            reader: Waker::noop().clone(),
            came: true,
            full_since: None,
        }));
        let watched = shared.clone();
        let checking = async move {
            loop {
                tokio::time::sleep_until(next_check(began, Instant::now())).await;
                if watched.lock().check().is_break() {
                    break;
                }
            }
        };
        let task = tokio::spawn(checking.boxed());
        Self {
            shared,
            _checker: AbortOnDropHandle::new(task),
        }
    }
}

/// The first time after `now` that is a whole number of intervals after `began`.
fn next_check(began: Instant, now: Instant) -> Instant {
    let passed = now.saturating_duration_since(began).as_nanos() / CHECK_INTERVAL.as_nanos();
    let checks = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(1);
    began + CHECK_INTERVAL.saturating_mul(checks)
}

impl<B> GuardState<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    /// Checks whether the reader is too slow. Breaks when there is nothing more to check.
    fn check(&mut self) -> std::ops::ControlFlow<()> {
        use std::ops::ControlFlow::{Break, Continue};
        if std::mem::replace(&mut self.came, false) {
            return Continue(());
        }
        self.read_ahead();
        if self.bytes < ReaderLagged::UNREAD_LIMIT {
            return if self.body.is_some() {
                Continue(())
            } else {
                Break(())
            };
        }
        let now = Instant::now();
        let time = now.duration_since(*self.full_since.get_or_insert(now));
        if time < MAX_UNREAD_TIME {
            return Continue(());
        }
        self.body = None;
        self.ahead.clear();
        self.ahead.push_back(Err(ReaderLagged(time).into()));
        self.reader.wake_by_ref();
        Break(())
    }

    fn read_ahead(&mut self) {
        // The waker that the reader registered stays registered.
        let reader = self.reader.clone();
        let mut cx = Context::from_waker(&reader);
        while self.bytes < ReaderLagged::UNREAD_LIMIT
            && let Some(body) = &mut self.body
            && let Poll::Ready(frame) = Pin::new(body).poll_frame(&mut cx)
        {
            match frame {
                // An empty frame does not count as unread.
                Some(Ok(frame)) if frame.data_ref().is_some_and(Bytes::is_empty) => {}
                Some(frame) => {
                    if frame.is_err() {
                        self.body = None;
                    }
                    self.bytes += length(&frame);
                    self.ahead.push_back(frame);
                }
                None => self.body = None,
            }
            reader.wake_by_ref();
        }
    }

    fn poll_frame(&mut self, cx: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.came = true;
        self.full_since = None;
        if let Some(frame) = self.ahead.pop_front() {
            self.bytes -= length(&frame).min(self.bytes);
            return Poll::Ready(Some(frame));
        }
        self.reader.clone_from(cx.waker());
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let mut cx = Context::from_waker(&self.reader);
        let polled = Pin::new(body).poll_frame(&mut cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }
}

/// The task may keep its reference a little longer, but the stream ends at once.
impl<B> Drop for SlowReaderGuard<B> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ahead.clear();
        let body = state.body.take();
        drop(state);
        drop(body);
    }
}

fn length(frame: &Result<Frame<Bytes>, BoxError>) -> usize {
    let data = frame.as_ref().ok().and_then(Frame::data_ref);
    data.map_or(0, Bytes::len)
}

impl<B> Body for SlowReaderGuard<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.shared.lock().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        let state = self.shared.lock();
        let ended = state.body.as_ref().is_none_or(Body::is_end_stream);
        ended && state.ahead.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_of_one_pool_check_together_and_at_most_an_interval_later() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs_f32(seconds);
        for (now, next) in [
            (0.0, 10.0),
            (0.5, 10.0),
            (9.5, 10.0),
            (10.0, 20.0),
            (27.0, 30.0),
        ] {
            assert_eq!(next_check(began, after(now)), after(next), "{now}");
        }
        assert_eq!(
            next_check(after(5.0), began),
            after(15.0),
            "a clock that went back"
        );
    }
}
