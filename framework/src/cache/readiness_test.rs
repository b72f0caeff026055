use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::watch;

use super::readiness::{Readiness, ReadyState};
use crate::client::woken::Woken;

fn part(name: &str) -> (watch::Sender<ReadyState>, Readiness) {
    let sender = watch::Sender::new(ReadyState::Pending);
    let readiness = Readiness::of(name, sender.subscribe());
    (sender, readiness)
}

#[test]
fn each_of_many_waiting_tasks_is_woken_by_its_own_waker() {
    let ((first, one), (second, other)) = (part("one"), part("other"));
    let all = Readiness::all([one, other]);
    let mut waiting: Vec<_> = (0..20)
        .map(|_| (Box::pin(all.wait()), Arc::<Woken>::default()))
        .collect();
    let mut poll = || -> usize {
        let done = waiting.iter_mut().map(|(future, count)| {
            let waker = count.waker();
            let mut context = Context::from_waker(&waker);
            future.as_mut().poll(&mut context) == Poll::Ready(true)
        });
        done.filter(|done| *done).count()
    };
    assert_eq!(poll(), 0);
    first.send_replace(ReadyState::Ready);
    assert_eq!(poll(), 0);
    second.send_replace(ReadyState::Ready);
    assert_eq!(poll(), 20);
    for (_, count) in &waiting {
        assert!(count.take() >= 2, "once for each component");
    }
}

#[tokio::test]
async fn a_wait_ends_at_once_when_a_component_cannot_become_ready() {
    let ((_first, one), (second, other)) = (part("one"), part("other"));
    let all = Readiness::all([one, other.clone()]);
    assert_eq!(all.waiting_for().collect::<Vec<_>>(), ["one", "other"]);
    second.send_replace(ReadyState::Never);
    assert!(!all.wait().await);
    drop(second);
    assert!(!all.wait().await && !other.wait().await);
}

#[tokio::test]
async fn a_ready_component_stays_ready_after_its_sender_is_dropped() {
    let (sender, readiness) = part("one");
    sender.send_replace(ReadyState::Ready);
    drop(sender);
    assert!(readiness.wait().await && readiness.is_ready());
    assert!(Readiness::all([]).wait().await);
}
