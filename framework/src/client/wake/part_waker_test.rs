//! Which task is woken, and when. `tests/model` checks all interleavings.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{part_waker::PartWaker, woken::Woken};

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

    /// Polls the part if it was woken, and passes its waker to `poll`. Returns whether the part was polled.
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
fn a_pending_part_is_polled_again_when_it_is_woken() {
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
fn a_part_that_returns_an_item_does_not_wake_its_task() {
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
fn a_part_that_wakes_itself_and_is_pending_is_polled_again() {
    let part = Part::new();
    assert!(part.poll(|waker| {
        waker.wake_by_ref();
        Poll::Pending
    }));
    assert_eq!(part.task.take(), 1);
    assert!(part.poll(|_| Poll::Pending));
}

#[test]
fn a_part_with_more_items_is_polled_at_once_and_others_when_woken() {
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
fn a_new_task_of_the_part_is_woken() {
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
