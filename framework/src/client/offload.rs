//! Work that takes milliseconds, on a thread of its own.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{
        OnceLock,
        mpsc::{self, SyncSender, TrySendError},
    },
    task::{Context, Poll, ready},
    thread,
};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
};

/// Begins `work` on the thread that the whole process has for this, after what was begun there before.
///
/// What many events or a page of a list hold is decoded there, and what they replace is let go there. So both cores of
/// a small machine have work while a cache fills, other tasks are not held up for milliseconds, and the memory of objects
/// is taken and given back by one thread: allocators keep memory by thread, and a cache whose task moves between the
/// threads of the runtime would leave free memory behind in each.
///
/// On a runtime with one thread, where no thread can be had, and when too much waits for it, the work is done at once. A
/// runtime whose clock is paused has one thread: its time stands still meanwhile. Objects of a type whose decoding takes
/// long hold up those of others that come in bursts.
///
/// It is one thread on purpose. Two decode a fifth more changes in a second, and leave a fifth more memory behind.
///
/// The thread is started when it is needed first, and waits for more as long as the process lives.
pub(crate) fn offload<T, F>(work: F) -> Offloaded<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let job = move || {
        // Nobody waits for it any more.
        if !sender.is_closed() {
            _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        }
    };
    run(Box::new(job));
    Offloaded(receiver)
}

/// Drops `value` there, whenever it is its turn.
pub(crate) fn drop_elsewhere<T: Send + 'static>(value: T) {
    run(Box::new(move || drop(value)));
}

/// The result of work that was begun. A panic of the work goes on in who waits for it.
pub(crate) struct Offloaded<T>(oneshot::Receiver<thread::Result<T>>);

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(Ok(value)) => Poll::Ready(value),
            Ok(Err(panic)) => resume_unwind(panic),
            // The thread outlives everything, and does all that it is given.
            Err(_) => unreachable!("work was lost"),
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

fn run(job: Job) {
    let thread = is_apart().then(the_thread).flatten();
    let Some(thread) = thread else {
        return finish(job);
    };
    if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = thread.try_send(job) {
        finish(job);
    }
}

/// Does a job. A panic that comes out of it is one of a drop: the hook has reported it, and it concerns nobody else.
fn finish(job: Job) {
    _ = catch_unwind(AssertUnwindSafe(job));
}

/// Whether the present runtime goes on while a thread of its own works.
fn is_apart() -> bool {
    Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// So much may wait. Who waits for results waits for few at a time, so that this is never reached by one.
const WAITING: usize = 1024;

fn the_thread() -> Option<&'static SyncSender<Job>> {
    static THREAD: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, jobs) = mpsc::sync_channel::<Job>(WAITING);
        let work = move || jobs.into_iter().for_each(finish);
        let thread = thread::Builder::new().name("pilothouse-decode".to_owned());
        thread.spawn(work).is_ok().then_some(sender)
    });
    thread.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> thread::ThreadId {
        thread::current().id()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_is_done_in_order_on_one_other_thread() {
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut all = Vec::new();
        for number in 0..100 {
            let order = order.clone();
            all.push(offload(move || {
                order.lock().unwrap().push(number);
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
        assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_comes_out_where_the_result_would_and_the_thread_goes_on() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("while it is dropped");
            }
        }
        drop_elsewhere(Bomb);
        let failed = tokio::spawn(async { offload(|| panic!("while it works")).await });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(offload(|| 7).await, 7);
    }

    #[tokio::test]
    async fn with_one_thread_it_is_done_at_once() {
        assert_eq!(offload(here).await, here());
    }
}
