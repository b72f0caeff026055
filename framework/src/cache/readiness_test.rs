use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::watch;

use super::readiness::{Readiness, Ready};
use crate::client::woken::Woken;

fn part(name: &str) -> (watch::Sender<Ready>, Readiness) {
    let sender = watch::Sender::new(Ready::NotYet);
    let readiness = Readiness::of(name, sender.subscribe());
    (sender, readiness)
}

#[test]
fn each_of_many_who_wait_is_woken_by_its_own_waker() {
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
    first.send_replace(Ready::Yes);
    assert_eq!(poll(), 0);
    second.send_replace(Ready::Yes);
    assert_eq!(poll(), 20);
    for (_, count) in &waiting {
        assert!(count.take() >= 2, "one per part");
    }
}

#[tokio::test]
async fn it_is_known_at_once_that_a_part_will_not_come() {
    let ((_first, one), (second, other)) = (part("one"), part("other"));
    let all = Readiness::all([one, other.clone()]);
    assert_eq!(all.waiting_for().collect::<Vec<_>>(), ["one", "other"]);
    second.send_replace(Ready::Never);
    assert!(!all.wait().await);
    drop(second);
    assert!(!all.wait().await && !other.wait().await);
}

#[tokio::test]
async fn what_was_ready_stays_so_after_its_end() {
    let (sender, readiness) = part("one");
    sender.send_replace(Ready::Yes);
    drop(sender);
    assert!(readiness.wait().await && readiness.is_ready());
    assert!(Readiness::all([]).wait().await);
}
