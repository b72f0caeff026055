//! A thread for work that takes milliseconds.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    task::{Context, Poll, ready},
    thread,
};

use parking_lot::Mutex;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
};

/// The thread that decodes for a set of informers. The informers own it, and [join](Self::join) it when they end.
///
/// Events and pages of a list are decoded there, and the objects that they replace are dropped there. This has three
/// reasons. A small machine uses both cores while a cache fills. Other tasks are not delayed by milliseconds. And one
/// thread allocates and frees the memory of objects: allocators keep memory by thread, and a cache whose task moves
/// between the runtime's threads would leave free memory in each of them.
///
/// There is one thread on purpose. Two threads decode a fifth more changes in a second, but leave a fifth more memory
/// behind.
///
/// The thread starts when it is first needed. If it is dropped without `join`, it ends by itself after its work.
#[derive(Default)]
pub(crate) struct DecodeThread {
    state: Mutex<State>,
    /// How many bytes wait to be dropped.
    waiting_drops: Arc<AtomicUsize>,
}

#[derive(Default)]
enum State {
    #[default]
    New,
    Running(Running),
    /// Joined, or the operating system did not start it.
    Ended,
}

struct Running {
    jobs: SyncSender<Job>,
    thread: thread::JoinHandle<()>,
    /// Ends when the last job is done.
    ended: oneshot::Receiver<()>,
}

type Job = Box<dyn FnOnce() + Send>;

impl DecodeThread {
    /// At most this many jobs may wait. A caller waits for a few results at a time, so one caller never reaches this.
    const WAITING: usize = 1024;
    /// At most this many bytes may wait to be dropped, and one value in any case.
    const WAITING_DROPS: usize = 4 * 1024 * 1024;

    pub(crate) fn decoder(self: &Arc<Self>) -> Decoder {
        Decoder(Arc::downgrade(self))
    }

    /// Waits until the work that was started is done and the thread has ended. Later work is done at once, by the task
    /// that starts it.
    pub(crate) async fn join(&self) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Ended);
        if let State::Running(running) = state {
            drop(running.jobs);
            _ = running.ended.await;
            // The thread has nothing left to do, so this blocks for microseconds.
            _ = running.thread.join();
        }
    }

    fn run(&self, job: Job) {
        if let Err(job) = self.start(job) {
            finish(job);
        }
    }

    /// Returns the job if the thread takes none.
    fn start(&self, job: Job) -> Result<(), Job> {
        let mut state = self.state.lock();
        if let State::New = *state {
            *state = Running::start().map_or(State::Ended, State::Running);
        }
        let State::Running(running) = &*state else {
            return Err(job);
        };
        running.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
        })
    }
}

impl Running {
    fn start() -> Option<Self> {
        let (jobs, received) = mpsc::sync_channel::<Job>(DecodeThread::WAITING);
        let (ends, ended) = oneshot::channel();
        let work = move || {
            received.into_iter().for_each(finish);
            drop(ends);
        };
        let thread = thread::Builder::new().name("pilothouse-decode".to_owned());
        let thread = thread.spawn(work).ok()?;
        Some(Self {
            jobs,
            thread,
            ended,
        })
    }
}

/// A handle to a [`DecodeThread`], which it does not keep alive.
///
/// Work is done at once on a runtime with one thread, if the thread cannot be started, or if too much work waits. A
/// runtime with a paused clock has one thread, and its time stands still meanwhile. If a type takes long to decode, it
/// delays other objects that come in bursts.
///
/// Without a thread, which is the default, the work goes to the runtime's own threads for blocking work: the caller is
/// no informer, and keeps few objects.
#[derive(Clone, Default)]
pub(crate) struct Decoder(Weak<DecodeThread>);

impl Decoder {
    /// Starts `work`. The decode thread does it after the work that was started before.
    pub(crate) fn offload<T, F>(&self, work: F) -> Offloaded<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            // The caller no longer waits for the result.
            if !sender.is_closed() {
                _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        };
        self.run(Box::new(job));
        Offloaded(receiver)
    }

    /// Drops `value`, which takes about so many `bytes`. The decode thread does it after the work that was started before. If
    /// it already has much to drop, the caller does it.
    pub(crate) fn drop_there<T: Send + 'static>(&self, value: T, bytes: usize) {
        let waiting = self.0.upgrade().map(|it| it.waiting_drops.clone());
        let place = WaitingDrop::new(waiting.unwrap_or_default(), bytes);
        let others = place.waiting.load(Ordering::Relaxed) - bytes;
        let is_full = others > 0 && others + bytes > DecodeThread::WAITING_DROPS;
        // The place is free when the value is gone.
        let job = Box::new(move || drop((value, place)));
        match is_full {
            true => finish(job),
            false => self.run(job),
        }
    }

    fn run(&self, job: Job) {
        // Other runtimes stand still while another thread works.
        let runtime = Handle::try_current().ok();
        let runtime = runtime.filter(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
        let Some(runtime) = runtime else {
            return finish(job);
        };
        match self.0.upgrade() {
            Some(thread) => thread.run(job),
            None => drop(runtime.spawn_blocking(|| finish(job))),
        }
    }
}

/// The place of a value that waits to be dropped.
struct WaitingDrop {
    waiting: Arc<AtomicUsize>,
    bytes: usize,
}

impl WaitingDrop {
    fn new(waiting: Arc<AtomicUsize>, bytes: usize) -> Self {
        waiting.fetch_add(bytes, Ordering::Relaxed);
        Self { waiting, bytes }
    }
}

impl Drop for WaitingDrop {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The result of work on another thread. If the work panics, the panic continues in the task that awaits this.
pub(crate) struct Offloaded<T>(oneshot::Receiver<thread::Result<T>>);

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(Ok(value)) => Poll::Ready(value),
            Ok(Err(panic)) => resume_unwind(panic),
            // A decode thread does all its work. So this was a runtime that shuts down, and this task ends with it.
            Err(_) => Poll::Pending,
        }
    }
}

/// Does a job. If it panics, the panic is from a `Drop`. The panic hook has reported it, and no other code needs to
/// know.
fn finish(job: Job) {
    _ = catch_unwind(AssertUnwindSafe(job));
}

/// The flag becomes true when the thread of `decoder` ends. The future ends when the thread knows the flag.
#[cfg(test)]
pub(crate) fn end_of_thread(
    decoder: &Decoder,
) -> (Arc<std::sync::atomic::AtomicBool>, Offloaded<()>) {
    use std::{
        cell::RefCell,
        sync::atomic::{AtomicBool, Ordering},
    };

    struct Last(Arc<AtomicBool>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let ended = Arc::<AtomicBool>::default();
    let own = ended.clone();
    (ended, decoder.offload(move || LAST.set(Some(Last(own)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> thread::ThreadId {
        thread::current().id()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_is_done_in_order_on_the_decode_thread() {
        let decode_thread = Arc::new(DecodeThread::default());
        let decoder = decode_thread.decoder();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut all = Vec::new();
        for number in 0..100 {
            let order = order.clone();
            all.push(decoder.offload(move || {
                order.lock().push(number);
                here()
            }));
        }
        let mut threads = Vec::new();
        for one in all {
            threads.push(one.await);
        }
        assert!(
            threads
                .iter()
                .all(|thread| *thread == threads[0] && *thread != here())
        );
        assert_eq!(*order.lock(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_reaches_the_waiting_task_and_the_thread_continues() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("while it is dropped");
            }
        }
        let decode_thread = Arc::new(DecodeThread::default());
        let decoder = decode_thread.decoder();
        decoder.drop_there(Bomb, 1);
        let own = decoder.clone();
        let failed = tokio::spawn(async move { own.offload(|| panic!("while it works")).await });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(decoder.offload(|| 7).await, 7);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_thread_that_is_joined_has_done_its_work_and_has_ended() {
        let decode_thread = Arc::new(DecodeThread::default());
        let decoder = decode_thread.decoder();
        let work = Arc::new(());
        decoder.drop_there((), 1);
        let (ended, noted) = end_of_thread(&decoder);
        for _ in 0..100 {
            decoder.drop_there(work.clone(), 1);
        }
        decode_thread.join().await;
        noted.await;
        assert_eq!(Arc::strong_count(&work), 1);
        assert!(ended.load(Ordering::Acquire));
        assert_eq!(decoder.offload(here).await, here(), "work after the end");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_busy_thread_keeps_few_bytes_that_are_to_be_dropped() {
        const QUARTER: usize = DecodeThread::WAITING_DROPS / 4;
        for (bytes, expected) in [(QUARTER, 4), (QUARTER + 1, 3), (5 * QUARTER, 1)] {
            let decode_thread = Arc::new(DecodeThread::default());
            let decoder = decode_thread.decoder();
            let (resume, paused) = mpsc::channel::<()>();
            let busy = decoder.offload(move || _ = paused.recv());
            let value = Arc::new(());
            for _ in 0..100 {
                decoder.drop_there(value.clone(), bytes);
            }
            assert_eq!(
                Arc::strong_count(&value),
                1 + expected,
                "{bytes} bytes each"
            );
            drop(resume);
            busy.await;
            decode_thread.join().await;
            assert_eq!(Arc::strong_count(&value), 1);
            assert_eq!(decode_thread.waiting_drops.load(Ordering::Relaxed), 0);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_without_a_decode_thread_is_done_by_another_thread_of_the_runtime() {
        let (mine, other) = (here(), Decoder::default().offload(here).await);
        assert_ne!(mine, other);
    }

    #[tokio::test]
    async fn on_a_runtime_with_one_thread_work_is_done_at_once() {
        let decode_thread = Arc::new(DecodeThread::default());
        assert_eq!(decode_thread.decoder().offload(here).await, here());
        assert_eq!(Decoder::default().offload(here).await, here());
    }
}
