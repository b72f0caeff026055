//! The workqueue's state machine and its list of waiting workers.

#[path = "../../../framework/src/queue/core.rs"]
#[allow(dead_code, unreachable_pub)]
mod core;
#[path = "../../../framework/src/queue/groups.rs"]
#[allow(dead_code, unreachable_pub)]
mod groups;
#[path = "../../../framework/src/queue/note.rs"]
#[allow(dead_code, unreachable_pub)]
mod note;
#[path = "../../../framework/src/queue/priority.rs"]
#[allow(dead_code, unreachable_pub)]
mod priority;
#[path = "../../../framework/src/queue/queued_key.rs"]
#[allow(dead_code, unreachable_pub)]
mod queued_key;
#[path = "../../../framework/src/queue/ready_keys.rs"]
#[allow(dead_code, unreachable_pub)]
mod ready_keys;
#[path = "../../../framework/src/queue/run.rs"]
#[allow(dead_code, unreachable_pub)]
mod run;
#[path = "../../../framework/src/queue/shared_core.rs"]
#[allow(dead_code, unreachable_pub)]
mod shared_core;
#[path = "../../../framework/src/queue/slab_list.rs"]
#[allow(dead_code, unreachable_pub)]
mod slab_list;
#[path = "../../../framework/src/queue/timing_wheel.rs"]
#[allow(dead_code, unreachable_pub)]
mod timing_wheel;

mod sync {
    pub(super) use crate::lock::Mutex;
}

use std::{future::poll_fn, task::Poll, time::Duration};

use loom::{
    future::block_on,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use self::{
    note::Note,
    priority::Priority,
    queued_key::{KeyState, QueuedKey},
    run::{End, Retry, Run, TakenRuns},
    shared_core::{QueueObserver, SharedCore, TakeOutcome, Waiter},
};
use crate::check;

type Queue = Arc<SharedCore<u8, (), Ignore>>;

struct Ignore;

impl QueueObserver for Ignore {
    fn added(&self, _: u64) {}
    fn started(&self, _: Duration) {}
    fn finished(&self, _: Duration) {}
}

const NOW: Duration = Duration::ZERO;

fn queue() -> Queue {
    Arc::new(SharedCore::new(None, Ignore))
}

fn add(queue: &Queue, key: u8) {
    queue.change(|core| core.add(key, Default::default(), NOW));
}

fn done(queue: &Queue, run: Run<u8, ()>) {
    queue.end(run.token, End::Success, NOW, |_, _| ());
}

/// What `WorkQueue::get` does. A deadline passes as soon as a worker sleeps until it.
fn get(queue: &Queue) -> Option<Run<u8, ()>> {
    next(queue, None)
}

/// What `WorkBatch` does if there is work, with one key at a time.
fn next(queue: &Queue, done: Option<Run<u8, ()>>) -> Option<Run<u8, ()>> {
    let mut taken = TakenRuns::one_at_a_time();
    taken.finished.extend(done.map(|run| run.token));
    take(queue, &mut taken);
    taken.unstarted.pop_front()
}

fn take(queue: &Queue, taken: &mut TakenRuns<u8, ()>) {
    let mut waiter = Waiter::default();
    let mut now = NOW;
    block_on(poll_fn(|cx| {
        loop {
            match queue.take(&mut waiter, taken, now, cx) {
                TakeOutcome::Proceed => return Poll::Ready(()),
                TakeOutcome::Sleep(Some(deadline)) => now = deadline,
                TakeOutcome::Sleep(None) => return Poll::Pending,
            }
        }
    }));
}

#[test]
fn no_key_is_lost_between_two_adders_and_two_workers() {
    check(3, || {
        let queue = queue();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    let run = get(&queue).unwrap();
                    let key = run.key;
                    done(&queue, run);
                    key
                })
            })
            .collect();
        add(&queue, 1);
        add(&queue, 2);
        let mut keys: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, [1, 2]);
    });
}

#[test]
fn a_change_during_the_work_leads_to_another_run_and_never_two_at_once() {
    a_change_during_the_work(false);
}

#[test]
fn a_change_during_the_work_leads_to_another_run_for_workers_that_end_their_work_by_asking_for_more()
 {
    a_change_during_the_work(true);
}

fn a_change_during_the_work(goes_on: bool) {
    check(3, move || {
        let queue = queue();
        let holders = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(AtomicUsize::new(0));
        let written = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, holders) = (queue.clone(), holders.clone());
                let (seen, written) = (seen.clone(), written.clone());
                thread::spawn(move || {
                    let mut done = None;
                    while let Some(run) = next(&queue, done.take()) {
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        seen.store(written.load(Ordering::SeqCst), Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        match goes_on {
                            true => done = Some(run),
                            false => self::done(&queue, run),
                        }
                    }
                })
            })
            .collect();
        for version in 1..=2 {
            written.store(version, Ordering::SeqCst);
            add(&queue, 7);
        }
        queue.shut_down(false);
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        // Level, not edge: the last run began after the last change.
        assert_eq!(seen.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_worker_that_gives_up_wakes_the_next_worker() {
    check(3, || {
        let queue = queue();
        let patient = {
            let queue = queue.clone();
            thread::spawn(move || get(&queue))
        };
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut waiter = Waiter::default();
                let mut taken = TakenRuns::one_at_a_time();
                block_on(poll_fn(|cx| {
                    queue.take(&mut waiter, &mut taken, NOW, cx);
                    Poll::Ready(())
                }));
                let got = taken.unstarted.pop_front();
                queue.give_up(&mut waiter);
                if let Some(run) = got {
                    let key = run.key;
                    self::done(&queue, run);
                    add(&queue, key);
                }
            })
        };
        add(&queue, 1);
        assert_eq!(patient.join().unwrap().unwrap().key, 1);
        fickle.join().unwrap();
    });
}

#[test]
fn a_waiting_worker_always_watches_the_deadline() {
    check(3, || {
        let queue = queue();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || get(&queue))
            })
            .collect();
        queue.change(|core| core.add_at(1, Duration::from_secs(9), Default::default(), NOW));
        queue.change(|core| core.add_at(2, Duration::from_secs(1), Default::default(), NOW));
        for worker in workers {
            assert!(worker.join().unwrap().is_some());
        }
    });
}

#[test]
fn a_drain_ends_when_the_last_key_is_done_and_not_before() {
    a_drain(false);
}

#[test]
fn a_drain_and_the_other_worker_end_when_the_last_run_ends_by_asking_for_more() {
    a_drain(true);
}

fn a_drain(goes_on: bool) {
    check(3, move || {
        let queue = queue();
        add(&queue, 1);
        let done = Arc::new(AtomicUsize::new(0));
        let worker = {
            let (queue, done) = (queue.clone(), done.clone());
            thread::spawn(move || {
                let mut last = None;
                while let Some(run) = next(&queue, last.take()) {
                    done.fetch_add(1, Ordering::SeqCst);
                    match goes_on {
                        true => last = Some(run),
                        false => self::done(&queue, run),
                    }
                }
            })
        };
        let other = goes_on.then(|| {
            let queue = queue.clone();
            let done = done.clone();
            thread::spawn(move || {
                if let Some(run) = get(&queue) {
                    done.fetch_add(1, Ordering::SeqCst);
                    assert!(next(&queue, Some(run)).is_none());
                }
            })
        });
        queue.shut_down(false);
        let mut waiter = Waiter::default();
        block_on(poll_fn(|cx| queue.poll_drained(&mut waiter, cx)));
        assert_eq!(done.load(Ordering::SeqCst), 1);
        worker.join().unwrap();
        other.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn a_key_that_a_worker_returns_is_taken_by_another_worker() {
    check(3, || {
        let queue = queue();
        add(&queue, 1);
        add(&queue, 2);
        let mut taken = TakenRuns::one_at_a_time();
        take(&queue, &mut taken);
        let run = taken.unstarted.pop_front().unwrap();
        take(&queue, &mut taken);
        let other = {
            let queue = queue.clone();
            thread::spawn(move || next(&queue, None).map(|run| run.key))
        };
        taken.finished.push(run.token);
        queue.return_unstarted(&mut taken, NOW);
        assert_eq!(other.join().unwrap(), Some(2));
    });
}
