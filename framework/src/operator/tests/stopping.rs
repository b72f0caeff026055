//! R12: the order of a stop, and its times.

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::world::*;

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
    // Nothing new begins.
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
    // Every 2 s, and the release.
    assert!(renewals.count() >= 12);
    assert_eq!(requests.last().unwrap().resource, lease);
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn reconciles_that_end_in_time_end_the_stop() {
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
    // All of them wrote.
    assert_eq!(count(&slow.done), 100);
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn leadership_that_is_lost_while_it_stops_ends_the_grace() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let slow = Scribe::taking(seconds(600));
    let running = a.start(a.operator(&slow)).await;
    sleep(seconds(10)).await;
    a.sky.outage(true);
    let stop = Instant::now();
    running.stop().await;
    assert!(stop.elapsed() < seconds(12), "{:?}", stop.elapsed());
    assert_eq!(count(&slow.running), 0);
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_at_once_and_leaves_the_lease_alone() {
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
