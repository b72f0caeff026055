//! The order among priorities and groups.

use std::{hash::Hash, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, advance};

use super::{
    ExponentialBackoff, MaxOf, Note,
    Priority::{self, High, Low, Normal},
    TokenBucket, Work, WorkQueue,
};

const SECOND: Duration = Duration::from_secs(1);

/// A group and a number.
type Key = (&'static str, u32);

fn by_group() -> WorkQueue<Key> {
    WorkQueue::builder().group_by(|key: &Key| key.0).build()
}

fn take<K: Clone + Eq + Hash + Send + 'static, N: Note>(queue: &WorkQueue<K, N>) -> Work<K, N> {
    queue
        .get()
        .now_or_never()
        .flatten()
        .expect("a key is ready")
}

/// How many calls of the workers begin until the call for `key` does, if each takes `call`.
async fn calls_until(key: Key, queue: &WorkQueue<Key>, workers: usize, call: Duration) -> usize {
    let mut busy: Vec<_> = (0..workers).map(|_| take(queue)).collect();
    queue.add_with(key, Normal, ());
    for calls in 1.. {
        advance(call).await;
        busy.remove(0).done();
        busy.push(take(queue));
        if busy.iter().any(|work| work.key == key) {
            return calls;
        }
    }
    unreachable!()
}

#[tokio::test(start_paused = true)]
async fn a_key_of_another_group_starts_within_two_calls_per_worker() {
    for workers in [1, 4] {
        let queue = by_group();
        for number in 0..100_000 {
            queue.add(("a", number));
        }
        let calls = calls_until(("b", 0), &queue, workers, SECOND / 1000).await;
        assert!(calls <= 2 * workers, "{calls} calls of {workers} workers");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_of_another_group_starts_early_while_older_keys_of_a_lower_priority_have_their_turns()
{
    let queue = by_group();
    for number in 0..100_000 {
        queue.add_with(("a", number), Low, ());
        queue.add(("a", 100_000 + number));
    }
    advance(60 * SECOND).await;
    let calls = calls_until(("b", 0), &queue, 4, SECOND / 1000).await;
    assert!(calls <= 8, "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn groups_take_turns_and_the_keys_of_each_stay_in_order() {
    let queue = by_group();
    for key in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)] {
        queue.add(key);
    }
    let order: Vec<_> = (0..6).map(|_| take(&queue).key).collect();
    let expected = [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3)];
    assert_eq!(order, expected);
}

#[tokio::test(start_paused = true)]
async fn a_group_keeps_its_turn_when_the_priority_of_one_of_its_keys_rises() {
    let queue = by_group();
    for key in [("a", 1), ("a", 2), ("b", 1)] {
        queue.add_with(key, Low, ());
    }
    queue.add_with(("a", 2), High, ());
    let order: Vec<_> = (0..3).map(|_| take(&queue).key).collect();
    assert_eq!(order, [("a", 2), ("a", 1), ("b", 1)]);
}

#[tokio::test(start_paused = true)]
async fn higher_priorities_come_first() {
    let queue = WorkQueue::new();
    queue.add_with("low", Low, ());
    queue.add("normal");
    queue.add_with("high", High, ());
    queue.add_with("raised", Low, ());
    queue.add_with("raised", High, ());
    queue.add_with("raised", Normal, ());
    let order: Vec<_> = (0..4)
        .map(|_| take(&queue))
        .map(|work| (work.key, work.priority))
        .collect();
    let expected = [
        ("high", High),
        ("raised", High),
        ("normal", Normal),
        ("low", Low),
    ];
    assert_eq!(order, expected);
}

/// How long a key of this priority waits while a key of priority `High` is always ready.
async fn wait_of(priority: Priority) -> Duration {
    let queue = WorkQueue::new();
    let start = Instant::now();
    queue.add_with(0, priority, ());
    for number in 1.. {
        queue.add_with(number, High, ());
        queue.add_with(number + 1, High, ());
        let work = take(&queue);
        if work.key == 0 {
            assert_eq!(work.waited, start.elapsed());
            return work.waited;
        }
        advance(SECOND).await;
        work.done();
    }
    unreachable!()
}

#[tokio::test(start_paused = true)]
async fn a_low_key_waits_for_less_than_30_s_while_high_ones_keep_coming() {
    for priority in [Low, Normal] {
        let waited = wait_of(priority).await;
        assert!(waited >= 10 * SECOND, "{priority:?} is no priority");
        assert!(waited < 30 * SECOND, "{priority:?} waited for {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_priority_rose_keeps_its_waiting_time() {
    let queue = WorkQueue::new();
    queue.add_with("old", Low, ());
    advance(20 * SECOND).await;
    queue.add_with("young", Normal, ());
    queue.add_with("old", Normal, ());
    advance(9 * SECOND).await;
    queue.add_with("high", High, ());
    // The turn belongs to their priority, and there the younger key came first.
    assert_eq!(take(&queue).key, "young");
}

#[tokio::test(start_paused = true)]
async fn high_keys_keep_every_second_turn_however_many_old_low_ones_there_are() {
    let queue = WorkQueue::new();
    for number in 0..1000 {
        queue.add_with(number, Low, ());
    }
    advance(3600 * SECOND).await;
    let mut low = 0;
    for number in 0..100 {
        queue.add_with(1000 + number, High, ());
        queue.add_with(1000 + number + 1, High, ());
        let work = take(&queue);
        low += usize::from(work.priority == Low);
        work.done();
    }
    assert_eq!(low, 50);
}

#[tokio::test(start_paused = true)]
async fn the_older_of_two_overdue_priorities_comes_first() {
    for (first, second) in [(Low, Normal), (Normal, Low)] {
        let queue = WorkQueue::new();
        queue.add_with(1, first, ());
        advance(SECOND).await;
        queue.add_with(2, second, ());
        advance(60 * SECOND).await;
        queue.add_with(3, High, ());
        queue.add_with(4, High, ());
        let order: Vec<_> = (0..4).map(|_| take(&queue).key).collect();
        assert_eq!(order, [1, 3, 2, 4]);
    }
}

/// All notes, in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notes(Vec<&'static str>);

impl Note for Notes {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

fn note(text: &'static str) -> Notes {
    Notes(vec![text])
}

#[tokio::test(start_paused = true)]
async fn the_notes_of_a_key_are_handed_out_once() {
    let queue = WorkQueue::<_, Notes>::default();
    queue.add_after_with("a", SECOND, Low, note("delayed"));
    queue.add_with("a", High, note("now"));
    queue.add_with("a", Low, note("again"));
    let work = take(&queue);
    assert_eq!(work.note.0, ["delayed", "now", "again"]);
    queue.add_with("a", Low, note("meanwhile"));
    work.done();
    let work = take(&queue);
    assert_eq!(
        (work.note.0.as_slice(), work.priority),
        (&["meanwhile"][..], Low)
    );
}

#[tokio::test(start_paused = true)]
async fn a_requeued_key_keeps_its_priority_and_its_note() {
    let queue = WorkQueue::<_, Notes>::default();
    queue.add_with("a", High, note("asked"));
    take(&queue).requeue_after(SECOND);
    advance(SECOND).await;
    let mut work = take(&queue);
    assert_eq!(
        (&work.note, work.priority, work.attempt),
        (&note("asked"), High, 1)
    );
    work.priority = Low;
    work.note = note("failed");
    work.retry(SECOND);
    advance(SECOND).await;
    let work = take(&queue);
    assert_eq!(
        (&work.note, work.priority, work.attempt),
        (&note("failed"), Low, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_work_frees_the_key_and_reports_nothing() {
    let queue = WorkQueue::new();
    queue.add("a");
    take(&queue).retry(Duration::ZERO);
    advance(SECOND).await;
    drop(take(&queue));
    assert!(queue.get().now_or_never().is_none());
    assert_eq!(queue.failures(&"a"), 1);
    queue.add("a");
    take(&queue).done();
    assert_eq!((queue.failures(&"a"), queue.remembered()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_requeued_without_a_delay_is_ready_at_once() {
    let queue = WorkQueue::new();
    queue.add("a");
    take(&queue).requeue_after(Duration::ZERO);
    assert_eq!((take(&queue).key, queue.len()), ("a", 0));
}

#[tokio::test(start_paused = true)]
async fn a_retry_does_not_wait_for_the_failures_of_another_group() {
    let queue: WorkQueue<Key> = WorkQueue::builder()
        .group_by(|key: &Key| key.0)
        .limiter(MaxOf::<ExponentialBackoff, TokenBucket>::default())
        .build();
    for number in 0..3000 {
        queue.add_rate_limited(("noisy", number));
    }
    let delay = |group| {
        queue.add((group, 0));
        // The keys that failed wait, so that this one is ready alone.
        take(&queue).retry(Duration::ZERO).delay
    };
    assert_eq!(delay("quiet"), SECOND / 5);
    assert_eq!(delay("other"), 3 * SECOND / 10);
}
