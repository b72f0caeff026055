//! Whom it wakes, and when; `tests/model` goes through the interleavings.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{PartWaker, woken::Woken};

struct Part {
    task: Arc<Woken>,
    waker: PartWaker,
}

impl Part {
    fn new() -> Self {
        Self {
            task: Arc::default(),
            waker: PartWaker::new(),
        }
    }

    /// Polls it, if it is due, and gives its own waker to `poll`; tells whether it was due.
    fn poll(&self, poll: impl FnOnce(&Waker) -> Poll<bool>) -> bool {
        let mut was_due = false;
        let waker = self.task.waker();
        let _: Poll<()> = self.waker.poll(&mut Context::from_waker(&waker), |cx| {
            was_due = true;
            poll(cx.waker()).map(|has_more| ((), has_more))
        });
        was_due
    }
}

#[test]
fn one_that_waits_is_polled_again_when_it_is_woken() {
    let part = Part::new();
    let mut own = None;
    assert!(part.poll(|waker| {
        own = Some(waker.clone());
        Poll::Pending
    }));
    assert!(!part.poll(|_| Poll::Pending));
    let own = own.unwrap();
    own.wake_by_ref();
    own.wake_by_ref();
    assert_eq!(part.task.take(), 1);
    assert!(part.poll(|_| Poll::Pending));
}

#[test]
fn what_it_does_itself_wakes_nobody_if_it_gives_something() {
    let part = Part::new();
    for has_more in [true, false] {
        assert!(part.poll(|waker| {
            waker.wake_by_ref();
            Poll::Ready(has_more)
        }));
        assert_eq!(part.task.take(), 0);
    }
    assert!(part.poll(|_| Poll::Pending), "it was woken");
}

#[test]
fn who_wants_to_go_on_later_is_polled_again() {
    let part = Part::new();
    assert!(part.poll(|waker| {
        waker.wake_by_ref();
        Poll::Pending
    }));
    assert_eq!(part.task.take(), 1);
    assert!(part.poll(|_| Poll::Pending));
}

#[test]
fn what_has_more_is_due_at_once_and_what_has_not_when_it_is_woken() {
    let part = Part::new();
    assert!(part.poll(|_| Poll::Ready(true)));
    let mut own = None;
    assert!(part.poll(|waker| {
        own = Some(waker.clone());
        Poll::Ready(false)
    }));
    assert!(!part.poll(|_| Poll::Pending));
    own.unwrap().wake();
    assert_eq!(part.task.take(), 1);
    assert!(part.poll(|_| Poll::Pending));
}

#[test]
fn who_takes_over_is_woken() {
    let mut part = Part::new();
    let mut own = None;
    part.poll(|waker| {
        own = Some(waker.clone());
        Poll::Pending
    });
    let before = std::mem::take(&mut part.task);
    assert!(!part.poll(|_| Poll::Pending));
    own.unwrap().wake();
    assert_eq!((before.take(), part.task.take()), (0, 1));
}
