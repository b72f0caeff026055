//! R12: the order of a stop, and its time limits.

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::operator::OperatorError;

#[tokio::test(start_paused = true)]
async fn a_thousand_reconciles_get_25_s_while_the_lease_is_renewed_and_released_last() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    for number in 0..1000 {
        a.create(&format!("map-{number}")).await;
    }
    let slow = Scribe::taking(seconds(600));
    let running = a.start(a.operator(&slow)).await;
    let (ready, lease) = (running.ready().clone(), "leases");
    sleep(seconds(10)).await;
    assert_eq!(count(&slow.running), 1000);
    let (begun, stop) = (sandbox.requests().len(), Instant::now());
    let stopping = tokio::spawn(running.stop());
    sleep(seconds(1)).await;
    let report = ready.report(&Default::default());
    assert!(!report.healthy());
    assert!(report.to_string().contains("the operator is stopping"));
    // No new reconcile starts.
    a.create("late").await;
    sleep(seconds(23)).await;
    assert_eq!(count(&slow.running), 1000);
    assert_eq!(count(&slow.begun), 1000);
    stopping.await.unwrap();
    let took = stop.elapsed();
    assert!(took >= seconds(25) && took < seconds(29), "{took:?}");
    assert_eq!((count(&slow.running), count(&slow.done)), (0, 0));
    let mut requests = sandbox.requests()[begun..].to_vec();
    requests.retain(|one| sender(one) == "a");
    let renewals = requests
        .iter()
        .filter(|one| one.verb == "update" && one.resource == lease);
    // A renewal every 2 s, and the release.
    assert!(renewals.count() >= 12);
    assert_eq!(requests.last().unwrap().resource, lease);
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn the_stop_ends_when_the_running_reconciles_have_ended() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    for number in 0..100 {
        a.create(&format!("map-{number}")).await;
    }
    let slow = Scribe::taking(seconds(20));
    let cancel = CancellationToken::new();
    let operator = a.operator(&slow);
    let running = tokio::spawn(operator.run(a.client.clone(), cancel.clone()));
    sleep(seconds(10)).await;
    assert_eq!(count(&slow.running), 100);
    cancel.cancel();
    let stop = Instant::now();
    running.await.unwrap().unwrap();
    assert!(stop.elapsed() < seconds(21), "{:?}", stop.elapsed());
    // Every reconcile has written.
    assert_eq!(count(&slow.done), 100);
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_is_named_with_its_objects() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    for number in 0..5 {
        a.create(&format!("map-{number}")).await;
    }
    let operator = a
        .unelected(&Scribe::taking(seconds(600)))
        .runnable("mirror", |_, _| std::future::pending())
        .runnable("short", |_, _| async { Ok(()) });
    let running = a.start(operator).await;
    sleep(seconds(10)).await;
    let work = running.tasks.unfinished();
    let (maps, runnables) = work.split_once("; ").unwrap();
    assert!(
        maps.starts_with("controller configmap with default/map-"),
        "{work}"
    );
    assert!(maps.ends_with(", 2 more"), "{work}");
    assert_eq!(maps.matches("default/map-").count(), 3, "{work}");
    assert_eq!(runnables, "runnable mirror");
    let error = OperatorError::Overtime { work }.to_string();
    let expected = "cancelled work did not end in time, because it blocks its thread: controller configmap with default/map-";
    assert!(error.starts_with(expected), "{error}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn losing_leadership_during_the_stop_ends_the_grace_period() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let slow = Scribe::taking(seconds(600));
    let running = a.start(a.operator(&slow)).await;
    sleep(seconds(10)).await;
    a.network.outage(true);
    let stop = Instant::now();
    running.stop().await;
    assert!(stop.elapsed() < seconds(12), "{:?}", stop.elapsed());
    assert_eq!(count(&slow.running), 0);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_not_released_while_cancelled_work_still_runs() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(10)).await;
    // Counts as work that blocks its thread.
    let _blocking = running.work.token();
    running.stop().await;
    assert_eq!(a.holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_at_once_and_does_not_change_the_lease() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let standby = b.start(b.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let stop = Instant::now();
    standby.stop().await;
    assert!(stop.elapsed() < seconds(1), "{:?}", stop.elapsed());
    assert_eq!(a.holder().await, "a");
    leader.stop().await;
}
