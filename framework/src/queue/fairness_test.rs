//! Who has the next turn, among priorities and groups.

use std::{hash::Hash, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, advance};

use super::{
    Note,
    Priority::{self, High, Low, Normal},
    Work, WorkQueue,
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

/// How many calls of so many workers begin until that for `key` does; each takes `call`.
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
async fn it_does_so_while_older_keys_of_less_priority_have_their_turns() {
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
async fn a_group_keeps_its_turn_when_one_of_its_keys_is_raised() {
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

/// How long a key of this priority waits while one of `High` is always ready.
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
async fn a_key_that_was_raised_on_its_way_does_not_begin_to_wait_anew() {
    let queue = WorkQueue::new();
    queue.add_with("old", Low, ());
    advance(20 * SECOND).await;
    queue.add_with("young", Normal, ());
    queue.add_with("old", Normal, ());
    advance(9 * SECOND).await;
    queue.add_with("high", High, ());
    // The turn is their priority's, and there the younger one came first.
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
async fn of_two_priorities_that_wait_for_too_long_the_older_has_the_turn() {
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

/// What was noted, in order.
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
async fn what_is_noted_of_a_key_is_handed_out_with_it_once() {
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
async fn a_key_that_is_to_come_again_keeps_its_priority_and_its_note() {
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
async fn work_that_is_dropped_gives_the_key_back_and_says_nothing_of_it() {
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
