//! What waiting for the queue guarantees; `tests/model` checks the interleavings.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::timeout};

use super::{Delta, DeltaQueue, Entry, RealFifo};

const SECOND: Duration = Duration::from_secs(1);

async fn full() -> DeltaQueue<u32> {
    let queue = DeltaQueue::new();
    for number in 0..RealFifo::<u32>::FIRST_LIST_BATCH as u32 {
        queue.push(Delta::Set(Entry::from(number))).await;
    }
    queue
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_the_producer_wait_until_it_is_drained() {
    let queue = full().await;
    let blocked = timeout(SECOND, queue.push(Delta::Set(Entry::from(0)))).await;
    assert!(blocked.is_err());
    let (pushed, batch) = tokio::join!(
        timeout(SECOND, queue.push(Delta::Set(Entry::from(0)))),
        queue.pop()
    );
    assert!(pushed.is_ok());
    assert_eq!(batch.deltas.len(), RealFifo::<u32>::FIRST_LIST_BATCH);
}

#[tokio::test(start_paused = true)]
async fn all_producers_that_wait_for_room_are_woken() {
    let queue = Arc::new(full().await);
    let mut producers = JoinSet::new();
    for number in 0..3 {
        let queue = queue.clone();
        producers.spawn(async move { queue.push(Delta::Set(Entry::from(number))).await });
    }
    tokio::task::yield_now().await;
    queue.pop().await;
    assert!(timeout(SECOND, producers.join_all()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_pop_takes_nothing() {
    let queue = DeltaQueue::<u32>::new();
    assert!(timeout(SECOND, queue.pop()).await.is_err());
    queue.push(Delta::Set(Entry::from(1))).await;
    assert_eq!(queue.pop().await.deltas.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_first_list_is_told_when_it_has_been_worked_on() {
    let queue = DeltaQueue::<u32>::new();
    assert!(queue.is_empty());
    queue.push(Delta::ListStarted).await;
    queue.push(Delta::Set(Entry::from(1))).await;
    assert_eq!((queue.len(), queue.is_empty()), (2, false));
    assert_eq!(queue.pop().await.deltas.len(), 2);
    assert!(!queue.finish());
    let resource_version = "1".into();
    queue.push(Delta::ListEnded { resource_version }).await;
    queue.pop().await;
    assert!(queue.finish() && queue.is_empty());
}
