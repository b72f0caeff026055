//! A waker that wakes a task for one part of it.

#[path = "../../../framework/src/client/wake/part_waker.rs"]
#[allow(dead_code, unreachable_pub)]
mod shipped;

mod sync {
    pub(super) use crate::lock::Mutex;
}

use std::{
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use loom::{future::block_on, sync::Arc, thread};

use self::shipped::PartWaker;
use crate::{check, lock::Mutex};

/// A source of items that a task waits for, such as a socket.
#[derive(Default)]
struct Source(Mutex<(usize, Option<Waker>)>);

impl Source {
    fn give(&self) {
        let mut state = self.0.lock();
        state.0 += 1;
        let waiting = state.1.take();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Takes one item and returns how many are left. In both cases the next item wakes the task.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<usize> {
        let mut state = self.0.lock();
        state.1 = Some(cx.waker().clone());
        match state.0.checked_sub(1) {
            Some(left) => {
                state.0 = left;
                Poll::Ready(left)
            }
            None => Poll::Pending,
        }
    }
}

/// A task takes two items; `more` is what it reports about the items that may be left.
fn takes_both(more: fn(usize) -> bool) {
    check(3, move || {
        let source = Arc::new(Source::default());
        let givers: Vec<_> = (0..2)
            .map(|_| {
                let source = source.clone();
                thread::spawn(move || source.give())
            })
            .collect();
        let part = PartWaker::new();
        for _ in 0..2 {
            block_on(poll_fn(|cx| {
                part.poll(cx, |cx| source.poll(cx).map(|left| ((), more(left))))
            }));
        }
        for giver in givers {
            giver.join().unwrap();
        }
    });
}

#[test]
fn an_item_that_arrives_while_the_part_is_polled_is_not_missed() {
    takes_both(|_| true);
}

#[test]
fn an_item_that_arrives_after_the_part_returned_its_last_one_is_not_missed() {
    takes_both(|left| left > 0);
}

#[test]
fn a_task_that_takes_over_is_woken() {
    check(3, || {
        let source = Arc::new(Source::default());
        let part = PartWaker::new();
        let poll = |cx: &mut Context<'_>| part.poll(cx, |cx| source.poll(cx).map(|_| ((), true)));
        let nobody = &mut Context::from_waker(Waker::noop());
        assert!(poll(nobody).is_pending());
        let giver = {
            let source = source.clone();
            thread::spawn(move || source.give())
        };
        block_on(poll_fn(poll));
        giver.join().unwrap();
    });
}
