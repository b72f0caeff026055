use std::{
    collections::BTreeSet,
    future::Future,
    hash::Hash,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::Duration,
};

use futures_util::{FutureExt, poll};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use super::*;
use crate::metrics::Metrics;

const MS: Duration = Duration::from_millis(1);

fn exact() -> ExponentialBackoff {
    ExponentialBackoff::default().spread(0.0)
}

fn take<K: Clone + Eq + Hash + Send + 'static, N: Note>(
    queue: &WorkQueue<K, N>,
) -> Option<Work<K, N>> {
    queue.get().now_or_never().flatten()
}

#[tokio::test(start_paused = true)]
async fn many_adds_lead_to_one_run() {
    let queue = WorkQueue::new();
    for _ in 0..100 {
        queue.add("a");
    }
    assert_eq!(queue.len(), 1);
    let _work = take(&queue).unwrap();
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_runs_runs_once_more_and_never_twice_at_once() {
    let queue = WorkQueue::new();
    queue.add("a");
    let work = take(&queue).unwrap();
    queue.add("a");
    queue.add("a");
    assert!(take(&queue).is_none());
    work.done();
    take(&queue).unwrap().done();
    assert!(take(&queue).is_none());
    assert_eq!(queue.remembered(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_runs_before_its_delay_ends_returns_its_token() {
    let bucket = TokenBucket::new(1.0, 0);
    let queue: WorkQueue<&str> = WorkQueue::builder().limiter(bucket).build();
    let fail = |key: &'static str| {
        queue.add(key);
        take(&queue).unwrap().retry(Duration::ZERO).delay
    };
    assert_eq!(
        [fail("a"), fail("b"), fail("c")],
        [1000, 2000, 3000].map(|ms| ms * MS)
    );
    // Each change of `b` makes it ready before its delay ends.
    let delays: BTreeSet<_> = (0..100).map(|_| fail("b")).collect();
    assert!(delays.iter().all(|delay| *delay <= 4000 * MS), "{delays:?}");

    // A change during the run makes the key ready at once.
    queue.add("d");
    let work = take(&queue).unwrap();
    queue.add("d");
    let turn = work.retry(Duration::ZERO).delay;
    take(&queue).unwrap().done();
    fail("e");
    assert!(fail("f") <= turn + 1000 * MS);
    // So does a shorter delay.
    queue.add_after("g", MS);
    let delays: BTreeSet<_> = (0..100)
        .map(|_| queue.add_rate_limited("g").delay)
        .collect();
    assert!(
        delays.iter().all(|delay| *delay <= turn + 4000 * MS),
        "{delays:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn keys_come_in_the_order_of_their_deadlines_and_not_before() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    queue.add_after("late", 30 * MS);
    queue.add_after("early", 10 * MS);
    queue.add_after("late", 50 * MS);
    queue.add("now");
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push((queue.get().await.unwrap().key, start.elapsed().as_millis()));
    }
    assert_eq!(seen, [("now", 0), ("early", 10), ("late", 30)]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_ran_earlier_does_not_run_again_at_its_deadline() {
    let queue = WorkQueue::new();
    queue.add_after("a", 10 * MS);
    queue.add("a");
    take(&queue).unwrap().done();
    assert_eq!(queue.remembered(), 0);
    tokio::time::advance(20 * MS).await;
    assert!(take(&queue).is_none());
}

#[tokio::test(start_paused = true)]
async fn an_earlier_deadline_wakes_a_worker_that_sleeps_for_a_later_one() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    queue.add_after("late", 10_000 * MS);
    let mut worker = Box::pin(queue.get());
    assert!(poll!(&mut worker).is_pending());
    queue.add_after("early", 5 * MS);
    assert_eq!(worker.await.unwrap().key, "early");
    assert_eq!(start.elapsed(), 5 * MS);
}

/// Workers in their own tasks, asleep: only the queue wakes them.
async fn asleep(queue: &WorkQueue<&'static str>) -> [JoinHandle<Option<&'static str>>; 2] {
    let worker = || {
        let queue = queue.clone();
        tokio::spawn(async move { queue.get().await.map(|work| work.key) })
    };
    let workers = [worker(), worker()];
    tokio::task::yield_now().await;
    workers
}

/// The key that a worker received. The test fails if nothing wakes the worker.
async fn given(worker: JoinHandle<Option<&'static str>>) -> Option<&'static str> {
    let given = tokio::time::timeout(1000 * MS, worker).await;
    given.expect("the worker was not woken").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_met_when_the_timer_waiter_becomes_busy() {
    let queue = WorkQueue::new();
    let start = Instant::now();
    let [one, other] = asleep(&queue).await;
    queue.add_after("a", 7 * MS);
    queue.add_after("b", 9 * MS);
    // The timer waiter has received `a` and does not come back.
    let (one, other) = tokio::join!(given(one), given(other));
    assert_eq!(BTreeSet::from([one, other]), [Some("a"), Some("b")].into());
    assert_eq!(start.elapsed(), 9 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_met_when_the_timer_waiter_is_cancelled() {
    let queue = WorkQueue::new();
    let [one, other] = asleep(&queue).await;
    queue.add_after("a", 7 * MS);
    tokio::task::yield_now().await;
    one.abort();
    assert_eq!(given(other).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_worker_takes_no_key_along() {
    let queue = WorkQueue::new();
    let [one, other] = asleep(&queue).await;
    queue.add("a");
    // It was woken, and ends before it could ask.
    one.abort();
    assert_eq!(given(other).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_and_success_resets() {
    let queue = WorkQueue::builder().limiter(exact()).build::<()>();
    let start = Instant::now();
    let mut at = Vec::new();
    queue.add("a");
    for _ in 0..4 {
        let work = queue.get().await.unwrap();
        at.push((work.attempt, start.elapsed().as_millis()));
        work.retry(Duration::ZERO);
    }
    assert_eq!(at, [(1, 0), (2, 5), (3, 15), (4, 35)]);
    queue.get().await.unwrap().done();
    assert_eq!(
        queue.add_rate_limited("a"),
        Retry {
            attempt: 1,
            delay: 5 * MS
        }
    );
    assert_eq!(
        queue.get().await.unwrap().retry(900 * MS),
        Retry {
            attempt: 2,
            delay: 900 * MS
        }
    );
}

/// What a batch returns at once.
fn draw<N: Note>(batch: &mut WorkBatch<u32, N>) -> Option<Work<u32, N>> {
    batch.next().now_or_never().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_batch_returns_each_key_once_in_order_and_keeps_nothing() {
    let queue = WorkQueue::new();
    (0..1000).for_each(|key| queue.add(key));
    let mut batches = [queue.batch(), queue.batch()];
    let mut keys = BTreeSet::new();
    let mut runs = 0;
    for turn in 0.. {
        let batch = &mut batches[turn % 2];
        let Some(work) = draw(batch) else { break };
        assert!(work.key >= runs / 2, "{} is too early", work.key);
        keys.insert(work.key);
        runs += 1;
        batch.done(work);
    }
    assert_eq!((runs, keys.len()), (1000, 1000));
    assert!(batches.iter_mut().all(|batch| draw(batch).is_none()));
    assert_eq!(queue.remembered(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_a_batch_belongs_to_its_worker_and_a_change_leads_to_another_run() {
    let queue = WorkQueue::<u32>::new();
    (0..1000).for_each(|key| queue.add(key));
    let mut batch = queue.batch();
    for _ in 0..1 + 2 + 4 + 8 {
        let work = draw(&mut batch).unwrap();
        batch.done(work);
    }
    let work = draw(&mut batch).unwrap();
    assert_eq!((work.key, queue.len()), (15, 1000 - 31), "it holds 16 now");
    (0..1000).for_each(|key| queue.add(key));
    let others = all(&queue);
    assert!(others.into_iter().eq((0..15).chain(31..1000)));
    batch.done(work);
    batch.return_unstarted();
    assert!(all(&queue).into_iter().eq(15..31));
    assert_eq!(queue.remembered(), 0);
}

/// Takes every ready key and ends its run.
fn all(queue: &WorkQueue<u32>) -> BTreeSet<u32> {
    let done = |work: Work<u32>| {
        let key = work.key;
        work.done();
        key
    };
    std::iter::from_fn(|| take(queue).map(done)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_or_works_for_long_takes_one_key_at_a_time() {
    let queue = WorkQueue::<u32>::new();
    (0..1000).for_each(|key| queue.add(key));
    let mut batch = queue.batch();
    for taken in 1..=20 {
        let work = draw(&mut batch).unwrap();
        batch.return_unstarted();
        assert_eq!(queue.len(), 1000 - taken);
        batch.done(work);
    }
    for taken in 21..=40 {
        let work = draw(&mut batch).unwrap();
        assert_eq!(queue.len(), 1000 - taken);
        tokio::time::advance(MS).await;
        batch.done(work);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_without_unstarted_keys_reports_the_finished_ones_too() {
    let queue = WorkQueue::<u32>::new();
    queue.add(1);
    let mut batch = queue.batch();
    let work = draw(&mut batch).unwrap();
    batch.done(work);
    assert_eq!(queue.remembered(), 1, "the queue does not know yet");
    batch.return_unstarted();
    assert_eq!(queue.remembered(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_with_a_worker_are_shown_before_others() {
    let queue = WorkQueue::<u32>::new();
    (0..4).for_each(|key| queue.add(key));
    let (first, second) = (take(&queue).unwrap(), take(&queue).unwrap());
    // A new key takes the place of one that is gone.
    first.done();
    queue.add(9);
    let shown: Vec<u32> = queue.keys(10).iter().map(|key| key.key).collect();
    assert_eq!((shown[0], shown.len()), (second.key, 4));
    assert_eq!(queue.keys(1).len(), 1);
    second.done();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_batch_ends_its_finished_runs_and_returns_the_others() {
    let queue = WorkQueue::builder().limiter(exact()).build::<()>();
    for key in 0..1000 {
        queue.add_rate_limited(key);
    }
    tokio::time::advance(5 * MS).await;
    let mut batch = queue.batch();
    for _ in 0..50 {
        let work = draw(&mut batch).unwrap();
        assert_eq!(work.attempt, 2);
        batch.done(work);
    }
    drop(batch);
    assert_eq!((queue.len(), queue.remembered()), (950, 950));
    let mut batch = queue.batch();
    for _ in 0..1 + 2 + 4 + 8 {
        let work = draw(&mut batch).unwrap();
        batch.done(work);
    }
    // None of these has ended yet.
    let work = draw(&mut batch).unwrap();
    assert_eq!((work.key, work.attempt, queue.len()), (65, 2, 950 - 31));
    drop(batch);
    assert_eq!(queue.len(), 950 - 16);
    assert_eq!(take(&queue).unwrap().key, 66);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_hands_out_ready_keys_and_drops_delayed_ones() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add_after("b", MS);
    queue.shut_down();
    queue.add("c");
    let work = queue.get().await.unwrap();
    assert_eq!(work.key, "a");
    work.done();
    assert!(queue.get().await.is_none());
    assert_eq!(queue.remembered(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_running_keys_and_for_changes_during_their_runs() {
    let queue = WorkQueue::new();
    queue.add("a");
    let work = queue.get().await.unwrap();
    queue.add("a");
    let mut drain = Box::pin(queue.shut_down_with_drain());
    assert!(poll!(&mut drain).is_pending());
    work.done();
    assert!(poll!(&mut drain).is_pending());
    let work = queue.get().await.unwrap();
    assert!(poll!(&mut drain).is_pending());
    work.done();
    drain.await;
    assert!(queue.get().await.is_none());
}

/// A drain in its own task, asleep: only the queue wakes it.
async fn draining(queue: &WorkQueue<&'static str>) -> JoinHandle<()> {
    let queue = queue.clone();
    let drain = tokio::spawn(async move { queue.shut_down_with_drain().await });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    drain
}

#[tokio::test(start_paused = true)]
async fn a_shut_down_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add("a");
    let _work = queue.get().await.unwrap();
    let drain = draining(&queue).await;
    queue.shut_down();
    let ended = tokio::time::timeout(1000 * MS, drain).await;
    ended.expect("the task was not woken").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_drain_is_woken_when_the_last_run_ends() {
    let queue = WorkQueue::new();
    queue.add("a");
    let work = queue.get().await.unwrap();
    let drain = draining(&queue).await;
    work.done();
    let ended = tokio::time::timeout(1000 * MS, drain).await;
    ended.expect("the task was not woken").unwrap();
}

struct Ignore;

impl Wake for Ignore {
    fn wake(self: Arc<Self>) {}
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_drain_leaves_nothing_behind() {
    let queue = WorkQueue::new();
    queue.add("a");
    let _work = take(&queue).unwrap();
    let task = Arc::new(Ignore);
    let waker = Waker::from(task.clone());
    let mut drain = Box::pin(queue.shut_down_with_drain());
    let polled = drain.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&task), 2);
    drop(drain);
    assert_eq!(Arc::strong_count(&task), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_does_not_overflow_the_clock() {
    let year = Duration::from_secs(365 * 24 * 3600);
    let queue = WorkQueue::new();
    queue.add("a");
    let retry = take(&queue).unwrap().retry(Duration::MAX);
    assert!(retry.delay > 29 * year && retry.delay < 31 * year);
    queue.add_after("b", Duration::MAX);
    tokio::time::advance(year).await;
    assert!(take(&queue).is_none());
    assert_eq!(queue.remembered(), 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_forget_failures_count_from_one() {
    let queue = WorkQueue::builder().limiter(exact()).build::<()>();
    for attempt in 1..=3 {
        assert_eq!(queue.add_rate_limited("a").attempt, attempt);
    }
    assert!(queue.is_empty(), "it is only delayed");
    queue.forget(&"a");
    assert_eq!((queue.failures(&"a"), queue.remembered()), (0, 1));
    tokio::time::advance(5 * MS).await;
    let work = take(&queue).unwrap();
    assert_eq!((work.key, work.attempt), ("a", 1));
    queue.add("b");
    assert!(!queue.is_empty());
}

#[test]
fn debug_output_names_the_type() {
    let queue = WorkQueue::builder().build::<()>();
    queue.add("a");
    let work = queue.get().now_or_never().flatten().unwrap();
    assert!(format!("{work:?}").contains("key: \"a\""));
    assert!(format!("{queue:?}").starts_with("WorkQueue"));
    let builder = WorkQueue::<u8>::builder();
    assert!(format!("{builder:?}").starts_with("Builder"));
}

#[tokio::test(start_paused = true)]
async fn every_sleeping_worker_is_woken_by_a_shutdown() {
    let queue = WorkQueue::<u8>::new();
    let mut workers = JoinSet::new();
    for _ in 0..5 {
        let queue = queue.clone();
        workers.spawn(async move { queue.get().await });
    }
    tokio::task::yield_now().await;
    queue.shut_down();
    assert!(workers.join_all().await.iter().all(Option::is_none));
}

/// How many keys of priority `Normal` wait, according to the metrics of the queue `q`.
fn depth(metrics: &Metrics) -> u64 {
    let series = "workqueue_depth{controller=\"q\",name=\"q\",priority=\"0\"} ";
    let text = metrics.encode();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_metrics_count_adds_runs_and_retries() {
    let metrics = Metrics::new();
    let queue = WorkQueue::builder()
        .limiter(exact())
        .metrics(&metrics, "q")
        .build::<()>();
    queue.add("a");
    queue.add_after("b", 2000 * MS);
    let of = metrics.workqueue("q");
    assert_eq!(
        (depth(&metrics), of.adds.get(), of.retries.get()),
        (1, 1, 1)
    );

    tokio::time::advance(1000 * MS).await;
    let a = queue.get().await.unwrap();
    assert_eq!(
        (depth(&metrics), of.queue_seconds.get_sample_sum()),
        (0, 1.0)
    );
    tokio::time::advance(3000 * MS).await;
    let text = metrics.encode();
    for name in ["unfinished_work", "longest_running_processor"] {
        let line = format!("workqueue_{name}_seconds{{controller=\"q\",name=\"q\"}} 3\n");
        assert!(text.contains(&line), "{text}");
    }
    a.done();
    assert_eq!(of.work_seconds.get_sample_sum(), 3.0);
    queue.get().await.unwrap();
    assert_eq!((of.adds.get(), depth(&metrics)), (2, 0));
}
