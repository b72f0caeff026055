//! The queue of deltas between a reflector and its store.

#[path = "../../../framework/src/cache/fifo/delta.rs"]
#[allow(dead_code, unreachable_pub)]
mod delta;
#[path = "../../../framework/src/cache/fifo/delta_fifo.rs"]
#[allow(dead_code, unreachable_pub)]
mod delta_fifo;
#[path = "../../../framework/src/cache/fifo/delta_queue.rs"]
#[allow(dead_code, unreachable_pub)]
mod delta_queue;
#[path = "../../../framework/src/cache/fifo/real_fifo.rs"]
#[allow(dead_code, unreachable_pub)]
mod real_fifo;

mod sync {
    pub(super) use crate::lock::{Mutex, MutexGuard};
}

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
};

use loom::{
    future::block_on,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use self::{
    delta::Delta,
    delta_fifo::{DeltaFifo, DeltaKind, ObjectDelta},
    delta_queue::DeltaQueue,
    real_fifo::{Batch, RealFifo},
};
use crate::{cache::Entry, check, client::ObjectList};

type Queue = Arc<DeltaQueue<u16>>;

fn queue() -> Queue {
    Arc::new(DeltaQueue::new())
}

fn set(number: u16) -> Delta<u16> {
    Delta::Set(Entry::from(number))
}

fn page(size: usize) -> ObjectList<Entry<u16>> {
    ObjectList {
        items: vec![Entry::from(0); size],
        undecodable: Vec::new(),
    }
}

fn numbers(batch: &Batch<u16>) -> impl Iterator<Item = u16> {
    batch.deltas.iter().filter_map(|delta| match delta {
        Delta::Set(number) => number.stored_object().map(|number| **number),
        _ => None,
    })
}

#[test]
fn no_delta_is_lost_or_overtaken_between_producer_and_consumer() {
    check(3, || {
        let queue = queue();
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || {
                for number in 1..=3 {
                    block_on(queue.push(set(number)));
                }
            })
        };
        let mut taken = Vec::new();
        while taken.len() < 3 {
            let batch = block_on(queue.pop());
            taken.extend(numbers(&batch));
            queue.finish();
        }
        assert_eq!(taken, [1, 2, 3]);
        producer.join().unwrap();
    });
}

#[test]
fn a_producer_at_the_bound_continues_when_there_is_room_and_never_exceeds_the_bound() {
    check(2, || {
        let queue = queue();
        let bound = RealFifo::<u16>::FIRST_LIST_BATCH;
        block_on(queue.push_page(page(bound)));
        let producers: Vec<_> = (1..=2)
            .map(|number| {
                let queue = queue.clone();
                thread::spawn(move || block_on(queue.push(set(number))))
            })
            .collect();
        let mut taken = Vec::new();
        while taken.len() < bound + 2 {
            taken.extend(numbers(&block_on(queue.pop())));
            queue.finish();
        }
        let order = taken.iter().position(|number| *number != 0);
        assert_eq!(order, Some(bound), "the queue keeps the order");
        for producer in producers {
            producer.join().unwrap();
        }
    });
}

#[test]
fn a_consumer_that_gives_up_leaves_the_delta_for_its_next_attempt() {
    check(3, || {
        let queue = queue();
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.push(set(1))))
        };
        // As in a `select!` whose other branch was faster.
        let given_up = {
            let pop = pin!(queue.pop());
            pop.poll(&mut Context::from_waker(Waker::noop()))
        };
        let taken = match given_up {
            std::task::Poll::Ready(batch) => batch,
            std::task::Poll::Pending => block_on(queue.pop()),
        };
        assert_eq!(numbers(&taken).collect::<Vec<_>>(), [1]);
        producer.join().unwrap();
    });
}

#[test]
fn a_task_that_sees_the_queue_synced_sees_the_whole_first_list() {
    check(3, || {
        let queue = queue();
        let stored = Arc::new(AtomicUsize::new(0));
        let synced = Arc::new(AtomicBool::new(false));
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || {
                block_on(queue.push(Delta::ListStarted));
                block_on(queue.push_page(page(2)));
                block_on(queue.push(Delta::ListEnded {
                    resource_version: "1".into(),
                }));
            })
        };
        let reader = {
            let (stored, synced) = (stored.clone(), synced.clone());
            thread::spawn(move || {
                if synced.load(Ordering::Acquire) {
                    assert_eq!(stored.load(Ordering::Relaxed), 2);
                }
            })
        };
        // What an informer does: it takes a batch, stores it, and only then checks whether the queue has synced.
        loop {
            let batch = block_on(queue.pop());
            assert!(batch.initial);
            stored.fetch_add(numbers(&batch).count(), Ordering::Relaxed);
            if queue.finish() {
                synced.store(true, Ordering::Release);
                break;
            }
        }
        producer.join().unwrap();
        reader.join().unwrap();
    });
}
