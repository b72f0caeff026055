use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body::{Body, Frame};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::client::BoxError;

/// How often is looked whether somebody reads.
const LOOK: Duration = Duration::from_secs(10);
/// So much may be left unread for as long as one likes …
const MOST_UNREAD: usize = 256 * 1024;
/// … and more than that for so long, give or take a look.
const LONGEST_UNREAD: Duration = Duration::from_secs(30);

/// The body of a watch, or of another stream without end such as a log, ended when its reader lags.
///
/// A reader that takes nothing for some 30 s while more than 256 KiB wait for it, its stream's whole
/// window, finds [`Lagged`] instead: the stream is reset and what had come is freed. Until then
/// others are not held up, because all streams' windows fit into the connection's.
///
/// Nobody is told when a window is full. So, when the reader has not come for a while, a task reads
/// in its stead, into a buffer of that size.
pub(super) struct Unread<B> {
    shared: Arc<Mutex<State<B>>>,
    _looks_after: AbortOnDropHandle<()>,
}

/// Nobody read what came, for so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lagged(pub(crate) Duration);

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, seconds) = (MOST_UNREAD / 1024, self.0.as_secs());
        write!(
            f,
            "{size} KiB were not read for {seconds} s, so the stream was ended: read faster, or ask for less"
        )
    }
}

impl std::error::Error for Lagged {}

struct State<B> {
    /// Gone when it ended.
    body: Option<B>,
    /// What was read in the reader's stead.
    ahead: VecDeque<Result<Frame<Bytes>, BoxError>>,
    bytes: usize,
    reader: Waker,
    /// The reader came since the last look.
    came: bool,
    full_since: Option<Instant>,
}

impl<B> Unread<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin + Send + 'static,
{
    pub(super) fn new(body: B) -> Self {
        let shared = Arc::new(Mutex::new(State {
            body: Some(body),
            ahead: VecDeque::new(),
            bytes: 0,
            reader: Waker::noop().clone(),
            came: true,
            full_since: None,
        }));
        let watched = shared.clone();
        let looking = async move {
            loop {
                tokio::time::sleep(LOOK).await;
                if lock(&watched).look().is_break() {
                    break;
                }
            }
        };
        let task = tokio::spawn(looking.boxed());
        Self {
            shared,
            _looks_after: AbortOnDropHandle::new(task),
        }
    }
}

impl<B> State<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    /// Whether the reader lags; breaks when there is nothing more to look after.
    fn look(&mut self) -> std::ops::ControlFlow<()> {
        use std::ops::ControlFlow::{Break, Continue};
        if std::mem::replace(&mut self.came, false) {
            return Continue(());
        }
        self.read_ahead();
        if self.bytes < MOST_UNREAD {
            return if self.body.is_some() {
                Continue(())
            } else {
                Break(())
            };
        }
        let now = Instant::now();
        let time = now.duration_since(*self.full_since.get_or_insert(now));
        if time < LONGEST_UNREAD {
            return Continue(());
        }
        self.body = None;
        self.ahead.clear();
        self.ahead.push_back(Err(Lagged(time).into()));
        self.reader.wake_by_ref();
        Break(())
    }

    fn read_ahead(&mut self) {
        // What the reader registered stays registered.
        let reader = self.reader.clone();
        let mut cx = Context::from_waker(&reader);
        while self.bytes < MOST_UNREAD
            && let Some(body) = &mut self.body
            && let Poll::Ready(frame) = Pin::new(body).poll_frame(&mut cx)
        {
            match frame {
                // Nothing that could be counted as unread.
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

/// The task may hold its share a little longer; the stream ends at once.
impl<B> Drop for Unread<B> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
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

fn lock<B>(shared: &Mutex<State<B>>) -> MutexGuard<'_, State<B>> {
    // Whoever panicked did so between two frames.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B> Body for Unread<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        lock(&self.shared).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        let state = lock(&self.shared);
        let ended = state.body.as_ref().is_none_or(Body::is_end_stream);
        ended && state.ahead.is_empty()
    }
}
