//! Who is called when: whoever has to know of a change, and nobody in vain.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use super::{
    core::{End, Run},
    held::Held,
    shared::{Asked, Observe, Shared, Ticket},
};

const NOW: Duration = Duration::ZERO;
/// So few that the wheel names each deadline exactly.
const MS: Duration = Duration::from_millis(1);

struct Ignore;

impl Observe for Ignore {
    fn added(&self, _: u64) {}
    fn started(&self, _: Duration) {}
    fn finished(&self, _: Duration) {}
}

type Queue = Shared<u8, (), Ignore>;

fn queue() -> Queue {
    Shared::new(None, Ignore)
}

fn add(queue: &Queue, key: u8) {
    queue.change(|core| core.add(key, Default::default(), NOW));
}

fn add_at(queue: &Queue, key: u8, when: Duration) {
    queue.change(|core| core.add_at(key, when, Default::default(), NOW));
}

/// How often a task was called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Worker {
    ticket: Ticket,
    held: Held<u8, ()>,
    calls: Arc<Calls>,
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            ticket: Ticket::default(),
            held: Held::one(),
            calls: Arc::default(),
        }
    }
}

impl Worker {
    fn ask(&mut self, queue: &Queue, now: Duration) -> Asked {
        let waker = Waker::from(self.calls.clone());
        let cx = Context::from_waker(&waker);
        queue.ask(&mut self.ticket, &mut self.held, now, &cx)
    }

    /// Falls asleep; until when at the latest.
    fn sleeps(&mut self, queue: &Queue) -> Option<Duration> {
        match self.ask(queue, NOW) {
            Asked::Sleep(deadline) => deadline,
            Asked::Now => panic!("there is something to do"),
        }
    }

    fn works(&mut self, queue: &Queue, now: Duration) -> Run<u8, ()> {
        match self.ask(queue, now) {
            Asked::Now => self.held.runs.pop_front().expect("work"),
            Asked::Sleep(_) => panic!("there is nothing to do"),
        }
    }

    /// What it holds and has not begun.
    fn holds(&self) -> Vec<u8> {
        self.held.runs.iter().map(|run| run.key).collect()
    }
}

fn asleep<const N: usize>(queue: &Queue) -> [Worker; N] {
    std::array::from_fn(|_| {
        let mut worker = Worker::default();
        worker.sleeps(queue);
        worker
    })
}

/// How often each was called since this was last asked.
fn calls<const N: usize>(workers: &[Worker; N]) -> [usize; N] {
    std::array::from_fn(|number| workers[number].calls.0.swap(0, Ordering::Relaxed))
}

#[test]
fn a_key_calls_one_worker_and_what_changes_nothing_calls_nobody() {
    let queue = queue();
    let mut workers = asleep::<2>(&queue);
    add(&queue, 1);
    assert_eq!(calls(&workers), [1, 0]);
    add(&queue, 1);
    assert_eq!(calls(&workers), [0, 0]);
    let run = workers[0].works(&queue, NOW);
    assert_eq!(calls(&workers), [0, 0]);
    queue.end(run.seat, End::Success, NOW, |_, _| ());
    queue.change(|core| core.forget(&1));
    assert_eq!(calls(&workers), [0, 0]);
}

#[test]
fn the_keeper_sleeps_until_the_deadline_and_the_others_get_the_work_before() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = [Worker::default(), Worker::default()];
    assert_eq!(workers[0].sleeps(&queue), Some(9 * MS));
    assert_eq!(workers[1].sleeps(&queue), None);
    add(&queue, 2);
    assert_eq!(calls(&workers), [0, 1]);
    // Nobody else is left.
    add(&queue, 3);
    assert_eq!(calls(&workers), [1, 0]);
}

#[test]
fn only_an_earlier_deadline_calls_the_keeper() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = asleep::<3>(&queue);
    for (when, called) in [(10, [0, 0, 0]), (9, [0, 0, 0]), (3, [1, 0, 0])] {
        add_at(&queue, 2 + when as u8, when * MS);
        assert_eq!(calls(&workers), called, "at {when} ms");
    }
    assert_eq!(workers[0].sleeps(&queue), Some(3 * MS));
    // A keeper that is not the first in the line is the one who is called.
    let queue = self::queue();
    let mut workers = asleep::<2>(&queue);
    add_at(&queue, 1, 9 * MS);
    assert_eq!(calls(&workers), [1, 0]);
    assert_eq!(workers[0].sleeps(&queue), Some(9 * MS));
    add_at(&queue, 2, 3 * MS);
    assert_eq!(calls(&workers), [1, 0]);
}

#[test]
fn of_several_keys_that_are_due_at_once_each_calls_a_worker() {
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
fn a_deadline_has_one_keeper_however_many_keys_are_worked_on() {
    let queue = queue();
    add_at(&queue, 1, 9 * MS);
    let mut workers = asleep::<3>(&queue);
    add(&queue, 2);
    assert_eq!(calls(&workers), [0, 1, 0]);
    let _work = workers[1].works(&queue, NOW);
    assert_eq!(calls(&workers), [0, 0, 0], "the first keeps the deadline");
}

#[test]
fn a_shut_down_calls_everybody_and_so_does_the_end_of_the_last_work() {
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
    queue.end(run.seat, End::Success, NOW, |_, _| ());
    assert_eq!(calls(&workers), [1, 1]);
}

#[test]
fn the_end_of_the_last_work_by_one_that_asks_for_more_calls_everybody() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let run = busy.works(&queue, NOW);
    queue.shut_down(false);
    let workers = asleep::<2>(&queue);
    let drain = Worker::default();
    let waker = Waker::from(drain.calls.clone());
    let drained = queue.poll_drained(&mut Ticket::default(), &Context::from_waker(&waker));
    assert!(drained.is_pending());
    busy.held.done.push(run.seat);
    assert!(matches!(busy.ask(&queue, NOW), Asked::Now));
    assert!(busy.holds().is_empty());
    assert_eq!((calls(&workers), calls(&[drain])), ([1, 1], [1]));
}

#[test]
fn a_change_during_the_work_is_for_the_worker_that_goes_on_and_calls_nobody() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let run = busy.works(&queue, NOW);
    let workers = asleep::<2>(&queue);
    add(&queue, 1);
    busy.held.done.push(run.seat);
    assert_eq!(busy.works(&queue, NOW).key, 1);
    assert_eq!(calls(&workers), [0, 0]);
}

#[test]
fn one_takes_several_only_of_what_is_more_than_one_for_each() {
    let queue = queue();
    (0..100).for_each(|key| add(&queue, key));
    let mut busy = Worker::default();
    busy.held.size = 16;
    assert!(matches!(busy.ask(&queue, NOW), Asked::Now));
    assert_eq!(busy.holds(), [0, 1, 2, 3]);
    let mut last = Worker::default();
    last.held.size = 16;
    let taken = std::iter::from_fn(|| {
        last.held.runs.clear();
        matches!(last.ask(&queue, NOW), Asked::Now).then(|| last.held.runs.len())
    });
    let taken: Vec<_> = taken.collect();
    assert_eq!(taken.iter().sum::<usize>(), 96);
    assert!(taken.ends_with(&[1; 30]), "{taken:?}");
}

#[test]
fn what_is_laid_down_has_its_turns_again_and_calls_a_worker() {
    let queue = queue();
    (0..97).for_each(|key| add(&queue, key));
    let mut busy = Worker::default();
    busy.held.size = 4;
    let done = busy.works(&queue, NOW);
    let run = busy.held.runs.pop_front().unwrap();
    assert_eq!((done.key, run.key, busy.holds()), (0, 1, vec![2, 3]));
    let others = (0..93).map(|_| Worker::default().works(&queue, NOW).key);
    assert!(others.eq(4..97));
    let mut workers = asleep::<2>(&queue);
    busy.held.done.push(done.seat);
    queue.lay_down(&mut busy.held, NOW);
    assert_eq!(calls(&workers), [1, 0]);
    assert_eq!(workers[0].works(&queue, NOW).key, 2);
    assert_eq!(calls(&workers), [0, 1]);
    assert_eq!(workers[1].works(&queue, NOW).key, 3);
    // Of what it laid down nothing is its own any more; what it works on is.
    add(&queue, 0);
    add(&queue, 1);
    assert_eq!(busy.works(&queue, NOW).key, 0);
    queue.end(run.seat, End::Success, NOW, |_, _| ());
    assert_eq!(busy.works(&queue, NOW).key, 1);
}

#[test]
fn a_worker_is_called_by_the_waker_it_gave_last() {
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
fn nothing_is_kept_of_who_has_given_up() {
    let queue = queue();
    add(&queue, 1);
    let mut busy = Worker::default();
    let _run = busy.works(&queue, NOW);
    let mut worker = Worker::default();
    worker.sleeps(&queue);
    let mut drain = Worker::default();
    let waker = Waker::from(drain.calls.clone());
    let drained = queue.poll_drained(&mut drain.ticket, &Context::from_waker(&waker));
    assert!(drained.is_pending());
    drop(waker);
    assert_eq!(
        (
            Arc::strong_count(&worker.calls),
            Arc::strong_count(&drain.calls)
        ),
        (2, 2)
    );
    queue.give_up(&mut worker.ticket);
    queue.leave_drained(&mut drain.ticket);
    assert_eq!(
        (
            Arc::strong_count(&worker.calls),
            Arc::strong_count(&drain.calls)
        ),
        (1, 1)
    );
}
