//! The workqueue's state machine and its line of waiting workers.

#[path = "../../../framework/src/queue/chain.rs"]
#[allow(dead_code, unreachable_pub)]
mod chain;
#[path = "../../../framework/src/queue/core.rs"]
#[allow(dead_code, unreachable_pub)]
mod core;
#[path = "../../../framework/src/queue/groups.rs"]
#[allow(dead_code, unreachable_pub)]
mod groups;
#[path = "../../../framework/src/queue/held.rs"]
#[allow(dead_code, unreachable_pub)]
mod held;
#[path = "../../../framework/src/queue/note.rs"]
#[allow(dead_code, unreachable_pub)]
mod note;
#[path = "../../../framework/src/queue/priority.rs"]
#[allow(dead_code, unreachable_pub)]
mod priority;
#[path = "../../../framework/src/queue/queued_key.rs"]
#[allow(dead_code, unreachable_pub)]
mod queued_key;
#[path = "../../../framework/src/queue/ready.rs"]
#[allow(dead_code, unreachable_pub)]
mod ready;
#[path = "../../../framework/src/queue/retry.rs"]
#[allow(dead_code, unreachable_pub)]
mod retry;
#[path = "../../../framework/src/queue/shared.rs"]
#[allow(dead_code, unreachable_pub)]
mod shared;
#[path = "../../../framework/src/queue/wheel.rs"]
#[allow(dead_code, unreachable_pub)]
mod wheel;

mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
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
    core::{End, Run},
    held::Held,
    note::Note,
    priority::Priority,
    queued_key::{KeyState, QueuedKey},
    retry::Retry,
    shared::{Asked, Observe, Shared, Ticket},
};
use crate::check;

type Queue = Arc<Shared<u8, (), Ignore>>;

struct Ignore;

impl Observe for Ignore {
    fn added(&self, _: u64) {}
    fn started(&self, _: Duration) {}
    fn finished(&self, _: Duration) {}
}

const NOW: Duration = Duration::ZERO;

fn queue() -> Queue {
    Arc::new(Shared::new(None, Ignore))
}

fn add(queue: &Queue, key: u8) {
    queue.change(|core| core.add(key, Default::default(), NOW));
}

fn done(queue: &Queue, run: Run<u8, ()>) {
    queue.end(run.seat, End::Success, NOW, |_, _| ());
}

/// What `WorkQueue::get` does; a deadline comes as soon as somebody sleeps for it.
fn get(queue: &Queue) -> Option<Run<u8, ()>> {
    next(queue, None)
}

/// What `Hand` does, if there is work, with one key at a time.
fn next(queue: &Queue, done: Option<Run<u8, ()>>) -> Option<Run<u8, ()>> {
    let mut held = Held::one();
    held.done.extend(done.map(|run| run.seat));
    take(queue, &mut held);
    held.runs.pop_front()
}

fn take(queue: &Queue, held: &mut Held<u8, ()>) {
    let mut ticket = Ticket::default();
    let mut now = NOW;
    block_on(poll_fn(|cx| {
        loop {
            match queue.ask(&mut ticket, held, now, cx) {
                Asked::Now => return Poll::Ready(()),
                Asked::Sleep(Some(deadline)) => now = deadline,
                Asked::Sleep(None) => return Poll::Pending,
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
fn it_does_so_too_for_workers_that_end_their_work_and_ask_at_once() {
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
fn a_worker_that_gives_up_passes_its_call_on() {
    check(3, || {
        let queue = queue();
        let patient = {
            let queue = queue.clone();
            thread::spawn(move || get(&queue))
        };
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut ticket = Ticket::default();
                let mut held = Held::one();
                block_on(poll_fn(|cx| {
                    queue.ask(&mut ticket, &mut held, NOW, cx);
                    Poll::Ready(())
                }));
                let got = held.runs.pop_front();
                queue.give_up(&mut ticket);
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
fn a_deadline_is_always_watched_by_somebody_who_waits() {
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
fn a_drain_and_the_other_worker_end_when_the_last_work_ends_by_asking_for_more() {
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
        let mut ticket = Ticket::default();
        block_on(poll_fn(|cx| queue.poll_drained(&mut ticket, cx)));
        assert_eq!(done.load(Ordering::SeqCst), 1);
        worker.join().unwrap();
        other.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn what_a_worker_lays_down_is_taken_by_another_one() {
    check(3, || {
        let queue = queue();
        add(&queue, 1);
        add(&queue, 2);
        let mut held = Held::one();
        take(&queue, &mut held);
        let run = held.runs.pop_front().unwrap();
        take(&queue, &mut held);
        let other = {
            let queue = queue.clone();
            thread::spawn(move || next(&queue, None).map(|run| run.key))
        };
        held.done.push(run.seat);
        queue.lay_down(&mut held, NOW);
        assert_eq!(other.join().unwrap(), Some(2));
    });
}
