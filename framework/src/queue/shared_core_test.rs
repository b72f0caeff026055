//! Which changes wake which workers: those that must know of the change, and no others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use super::{
    run::{End, Run, TakenRuns},
    shared_core::{QueueObserver, SharedCore, TakeOutcome, Waiter},
};

const NOW: Duration = Duration::ZERO;
/// So short that the wheel stores each deadline exactly.
const MS: Duration = Duration::from_millis(1);

struct Ignore;

impl QueueObserver for Ignore {
    fn added(&self, _: u64) {}
    fn started(&self, _: Duration) {}
    fn finished(&self, _: Duration) {}
}

type Queue = SharedCore<u8, (), Ignore>;

fn queue() -> Queue {
    SharedCore::new(None, Ignore)
}

fn add(queue: &Queue, key: u8) {
    queue.change(|core| core.add(key, Default::default(), NOW));
}

fn add_at(queue: &Queue, key: u8, when: Duration) {
    queue.change(|core| core.add_at(key, when, Default::default(), NOW));
}

/// How often a task was woken.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Worker {
    waiter: Waiter,
    taken: TakenRuns<u8, ()>,
    calls: Arc<Calls>,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            waiter: Waiter::default(),
            taken: TakenRuns::one_at_a_time(),
            calls: Arc::default(),
        }
    }
}

impl Worker {
    fn take(&mut self, queue: &Queue, now: Duration) -> TakeOutcome {
        let waker = Waker::from(self.calls.clone());
        let cx = Context::from_waker(&waker);
        queue.take(&mut self.waiter, &mut self.taken, now, &cx)
    }

    /// Puts the worker into the wait list. Returns the deadline until which it sleeps.
    fn sleeps(&mut self, queue: &Queue) -> Option<Duration> {
        match self.take(queue, NOW) {
            TakeOutcome::Sleep(deadline) => deadline,
            TakeOutcome::Proceed => panic!("there is something to do"),
        }
    }

    fn works(&mut self, queue: &Queue, now: Duration) -> Run<u8, ()> {
        match self.take(queue, now) {
            TakeOutcome::Proceed => self.taken.unstarted.pop_front().expect("work"),
            TakeOutcome::Sleep(_) => panic!("there is nothing to do"),
        }
    }

    /// The keys that it took and did not begin.
    fn holds(&self) -> Vec<u8> {
        self.taken.unstarted.iter().map(|run| run.key).collect()
    }
}

fn asleep<const N: usize>(queue: &Queue) -> [Worker; N] {
    std::array::from_fn(|_| {
        let mut worker = Worker::default();
        worker.sleeps(queue);
        worker
    })
}

/// How often each worker was woken since the last call.
fn calls<const N: usize>(workers: &[Worker; N]) -> [usize; N] {
    std::array::from_fn(|number| workers[number].calls.0.swap(0, Ordering::Relaxed))
}

#[test]
fn a_key_wakes_one_worker_and_a_call_without_effect_wakes_no_worker() {
    let queue = queue();
    let mut workers = asleep::<2>(&queue);
    add(&queue, 1);
    assert_eq!(calls(&workers), [1, 0]);
    add(&queue, 1);
    assert_eq!(calls(&workers), [0, 0]);
    let run = workers[0].works(&queue, NOW);
    assert_eq!(calls(&workers), [0, 0]);
    queue.end(run.token, End::Success, NOW, |_, _| ());
    queue.change(|core| core.forget(&1));
    assert_eq!(calls(&workers), [0, 0]);
}

#[test]
fn the_timer_waiter_sleeps_until_the_deadline_and_other_workers_get_earlier_work() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = [Worker::default(), Worker::default()];
    assert_eq!(workers[0].sleeps(&queue), Some(9 * MS));
    assert_eq!(workers[1].sleeps(&queue), None);
    add(&queue, 2);
    assert_eq!(calls(&workers), [0, 1]);
    // No other worker is left.
    add(&queue, 3);
    assert_eq!(calls(&workers), [1, 0]);
}

#[test]
fn only_an_earlier_deadline_wakes_the_timer_waiter() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = asleep::<3>(&queue);
    for (when, called) in [(10, [0, 0, 0]), (9, [0, 0, 0]), (3, [1, 0, 0])] {
        add_at(&queue, 2 + when as u8, when * MS);
        assert_eq!(calls(&workers), called, "at {when} ms");
    }
    assert_eq!(workers[0].sleeps(&queue), Some(3 * MS));
    // A timer waiter that is not the first in the list is woken.
    let queue = self::queue();
    let mut workers = asleep::<2>(&queue);
    add_at(&queue, 1, 9 * MS);
    assert_eq!(calls(&workers), [1, 0]);
    assert_eq!(workers[0].sleeps(&queue), Some(9 * MS));
    add_at(&queue, 2, 3 * MS);
    assert_eq!(calls(&workers), [1, 0]);
}

#[test]
fn each_of_several_keys_that_are_due_at_once_wakes_a_worker() {
    let queue = queue();
    for key in 1..=3 {
        add_at(&queue, key, MS);
    }
    let mut workers = asleep::<4>(&queue);
    let _one = workers[0].works(&queue, MS);
    assert_eq!(calls(&workers), [0, 1, 0, 0]);
    let _two = workers[1].works(&queue, MS);
    assert_eq!(calls(&workers), [0, 0, 1, 0]);
    let _three = workers[2].works(&queue, MS);
    assert_eq!(calls(&workers), [0, 0, 0, 0]);
}

#[test]
fn a_deadline_has_one_timer_waiter_however_many_keys_run() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = asleep::<3>(&queue);
    add(&queue, 2);
    assert_eq!(calls(&workers), [0, 1, 0]);
    let _work = workers[1].works(&queue, NOW);
    assert_eq!(
        calls(&workers),
        [0, 0, 0],
        "the first worker watches the deadline"
    );
}

#[test]
fn a_shutdown_and_the_end_of_the_last_run_wake_everybody() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let run = busy.works(&queue, NOW);
    let mut workers = asleep::<2>(&queue);
    queue.shut_down(false);
    assert_eq!(calls(&workers), [1, 1]);
    for worker in &mut workers {
        worker.sleeps(&queue);
    }
    assert_eq!(calls(&workers), [0, 0]);
    queue.end(run.token, End::Success, NOW, |_, _| ());
    assert_eq!(calls(&workers), [1, 1]);
}

#[test]
fn a_worker_that_ends_the_last_run_by_asking_for_more_wakes_everybody() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let run = busy.works(&queue, NOW);
    queue.shut_down(false);
    let workers = asleep::<2>(&queue);
    let drain = Worker::default();
    let waker = Waker::from(drain.calls.clone());
    let drained = queue.poll_drained(&mut Waiter::default(), &Context::from_waker(&waker));
    assert!(drained.is_pending());
    busy.taken.finished.push(run.token);
    assert!(matches!(busy.take(&queue, NOW), TakeOutcome::Proceed));
    assert!(busy.holds().is_empty());
    assert_eq!((calls(&workers), calls(&[drain])), ([1, 1], [1]));
}

#[test]
fn a_change_during_a_run_is_for_the_same_worker_and_wakes_no_other() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let run = busy.works(&queue, NOW);
    let workers = asleep::<2>(&queue);
    add(&queue, 1);
    busy.taken.finished.push(run.token);
    assert_eq!(busy.works(&queue, NOW).key, 1);
    assert_eq!(calls(&workers), [0, 0]);
}

#[test]
fn a_worker_takes_several_keys_only_beyond_one_for_each_worker() {
    let queue = queue();
    (0..100).for_each(|key| add(&queue, key));
    let mut busy = Worker::default();
    busy.taken.max_size = 16;
    assert!(matches!(busy.take(&queue, NOW), TakeOutcome::Proceed));
    assert_eq!(busy.holds(), [0, 1, 2, 3]);
    let mut last = Worker::default();
    last.taken.max_size = 16;
    let taken = std::iter::from_fn(|| {
        last.taken.unstarted.clear();
        matches!(last.take(&queue, NOW), TakeOutcome::Proceed).then(|| last.taken.unstarted.len())
    });
    let taken: Vec<_> = taken.collect();
    assert_eq!(taken.iter().sum::<usize>(), 96);
    assert!(taken.ends_with(&[1; 30]), "{taken:?}");
}

#[test]
fn returned_keys_keep_their_turns_and_wake_a_worker() {
    let queue = queue();
    (0..97).for_each(|key| add(&queue, key));
    let mut busy = Worker::default();
    busy.taken.max_size = 4;
    let done = busy.works(&queue, NOW);
    let run = busy.taken.unstarted.pop_front().unwrap();
    assert_eq!((done.key, run.key, busy.holds()), (0, 1, vec![2, 3]));
    let others = (0..93).map(|_| Worker::default().works(&queue, NOW).key);
    assert!(others.eq(4..97));
    let mut workers = asleep::<2>(&queue);
    busy.taken.finished.push(done.token);
    queue.return_unstarted(&mut busy.taken, NOW);
    assert_eq!(calls(&workers), [1, 0]);
    assert_eq!(workers[0].works(&queue, NOW).key, 2);
    assert_eq!(calls(&workers), [0, 1]);
    assert_eq!(workers[1].works(&queue, NOW).key, 3);
    // The returned keys no longer belong to the worker; the key that it works on does.
    add(&queue, 0);
    add(&queue, 1);
    assert_eq!(busy.works(&queue, NOW).key, 0);
    queue.end(run.token, End::Success, NOW, |_, _| ());
    assert_eq!(busy.works(&queue, NOW).key, 1);
}

#[test]
fn a_worker_is_woken_by_its_latest_waker() {
    let queue = queue();
    let [mut worker] = asleep::<1>(&queue);
    let before = std::mem::take(&mut worker.calls);
    worker.sleeps(&queue);
    add(&queue, 1);
    assert_eq!(
        (calls(&[worker]), before.0.load(Ordering::Relaxed)),
        ([1], 0)
    );
}

#[test]
fn a_worker_that_gave_up_leaves_nothing_behind() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let _run = busy.works(&queue, NOW);
    let mut worker = Worker::default();
    worker.sleeps(&queue);
    let mut drain = Worker::default();
    let waker = Waker::from(drain.calls.clone());
    let drained = queue.poll_drained(&mut drain.waiter, &Context::from_waker(&waker));
    assert!(drained.is_pending());
    drop(waker);
    assert_eq!(
        (
            Arc::strong_count(&worker.calls),
            Arc::strong_count(&drain.calls)
        ),
        (2, 2)
    );
    queue.give_up(&mut worker.waiter);
    queue.leave_drained(&mut drain.waiter);
    assert_eq!(
        (
            Arc::strong_count(&worker.calls),
            Arc::strong_count(&drain.calls)
        ),
        (1, 1)
    );
}
