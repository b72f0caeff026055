//! Candidates against the sandbox's API server on the paused clock, with a network that may fail.

mod process;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use pilothouse_sandbox::Sandbox;
use process::{NetworkState, Process};
use tokio::time::{Instant, sleep, timeout};

use super::{Election, ElectionSettings, LeadershipGate, Phase};
use crate::{
    client::{Api, DeleteParams, ErrorKind, PostParams},
    clock::Clock,
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn sandbox() -> Sandbox {
    Sandbox::builder().seed(1).build().unwrap()
}

fn named(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_over_when_the_leader_disappears() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leading = a.lead().await;
    assert_eq!(a.holder().await, "a");
    assert!(a.metric("leader_election_master_status{name=\"website\"} 1"));

    let standby = b.candidate();
    let status = standby.status();
    let mut standby = tokio::spawn(standby.lead());
    assert!(timeout(seconds(600), &mut standby).await.is_err());
    assert!(leading.holds());
    assert_eq!(
        (status.phase(), status.leader().as_deref()),
        (Phase::StandingBy, Some("a"))
    );

    // The process dies without a release.
    drop(leading);
    let died = Instant::now();
    let second = standby.await.unwrap();
    let waited = died.elapsed();
    // Counted from the last renewal, up to 2 s ago; then one more attempt of the standby, up to 4.4 s later.
    assert!(waited > seconds(12) && waited < seconds(20), "{waited:?}");
    assert_eq!(
        (b.holder().await.as_str(), b.lease().await.lease_transitions),
        ("b", Some(1))
    );
    assert_eq!(status.phase(), Phase::Leading);
    assert!(second.holds());
    // Only the second leader found a Lease that nobody had released.
    let wall = b.client.clock().now().as_duration().as_secs();
    assert_eq!(a.expired_takeover(), 0);
    assert!(b.expired_takeover().abs_diff(wall) < 5);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_hands_over_at_once_and_sends_nothing_after() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leading = a.lead().await;
    let fenced = leading.fence(&a.client);
    let standby = tokio::spawn(b.candidate().lead());
    sleep(seconds(60)).await;
    let released = Instant::now();
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "");
    let config_maps: Api<ConfigMap> = Api::namespaced(&fenced, "default");
    let late = config_maps
        .create(&PostParams::default(), &named("late"))
        .await;
    assert!(
        matches!(&late, Err(error) if matches!(error.kind(), ErrorKind::Fenced(_))),
        "{late:?}"
    );
    assert!(a.metric("leader_election_master_status{name=\"website\"} 0"));
    let _second = standby.await.unwrap();
    assert!(released.elapsed() < seconds(5), "{:?}", released.elapsed());
    assert_eq!(b.lease().await.lease_transitions, Some(1));
    assert_eq!(b.expired_takeover(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_leadership_ten_seconds_after_the_last_renewal_was_sent() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let fenced: Api<ConfigMap> = Api::namespaced(&leading.fence(&a.client), "default");
    sleep(seconds(61)).await;
    a.network.set(NetworkState::Outage);
    let away = Instant::now();
    leading.lost().await;
    let lasted = away.elapsed();
    // The last renewal was sent at most 2 s before.
    assert!(lasted > seconds(7) && lasted <= seconds(10), "{lasted:?}");
    assert!(!leading.holds());
    sleep(seconds(1)).await;
    assert!(a.metric("leader_election_master_status{name=\"website\"} 0"));
    // The server is back; what was lost stays lost, and the fence closed.
    a.network.set(NetworkState::Fine);
    let late = fenced.create(&PostParams::default(), &named("late")).await;
    let error = late.unwrap_err().to_string();
    assert_eq!(
        error,
        "create ConfigMap default/late: not sent: this process no longer leads: Lease default/website was lost"
    );
    assert!(a.metric("leader_election_fence_refusals_total{name=\"website\"} 1"));
    sleep(seconds(60)).await;
    assert!(!leading.holds());
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_response_took_too_long_does_not_make_a_leader() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    // An attempt may take one second, which is longer than the renew deadline: only the clock shows that a response is old.
    let impatient = |lease| {
        let (deadline, period) = (Duration::from_millis(600), Duration::from_millis(200));
        let settings = ElectionSettings::new(lease)
            .on_tokio_clock()
            .identity("a")
            .times(seconds(2), deadline, period);
        let candidate = Election::new(&a.client, settings, &a.metrics).unwrap();
        candidate.on_overdue(|| {})
    };
    let candidate = impatient("website");
    a.network
        .set(NetworkState::Slow(Duration::from_millis(150)));
    let lead = tokio::spawn(candidate.lead());
    let leading = lead.await.unwrap();
    sleep(seconds(10)).await;
    assert!(leading.holds());
    drop(leading);
    let candidate = impatient("other");
    a.network
        .set(NetworkState::Slow(Duration::from_millis(800)));
    let lead = tokio::spawn(candidate.lead());
    sleep(seconds(60)).await;
    assert!(!lead.is_finished());
    lead.abort();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_or_released_guard_cancels_its_token() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let (token, permit) = (leading.token(), leading.permit());
    assert!(permit.holds() && !token.is_cancelled());
    drop(leading);
    assert!(token.is_cancelled() && !permit.holds());
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_does_not_end_leadership() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    for _ in 0..20 {
        a.network.set(NetworkState::Outage);
        sleep(seconds(6)).await;
        a.network.set(NetworkState::Fine);
        sleep(seconds(5)).await;
    }
    assert!(leading.holds());
}

#[tokio::test(start_paused = true)]
async fn with_a_slow_server_the_deadline_counts_from_the_sending() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    a.network.set(NetworkState::Slow(seconds(4)));
    sleep(seconds(300)).await;
    assert!(leading.holds());
    // Slower than the limit of one attempt: no renewal succeeds any more.
    a.network.set(NetworkState::Slow(seconds(6)));
    let slow = Instant::now();
    leading.lost().await;
    assert!(slow.elapsed() <= seconds(10), "{:?}", slow.elapsed());
}

#[tokio::test(start_paused = true)]
async fn renewals_with_lost_responses_do_not_count() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    a.network.set(NetworkState::Deaf);
    let deaf = Instant::now();
    leading.lost().await;
    assert!(
        deaf.elapsed() < Duration::from_millis(10_600),
        "{:?}",
        deaf.elapsed()
    );
    // On the server the Lease was renewed all the time, so no other process took it.
    assert_eq!(Process::of(&sandbox, "b").holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn work_that_outlives_leadership_is_reported_two_seconds_before_another_may_lead() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(60)).await;
    a.network.set(NetworkState::Outage);
    leading.lost().await;
    sleep(Duration::from_millis(2900)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 0);
    sleep(Duration::from_millis(700)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 1);
    drop(leading);

    // Work that ends in time is not reported.
    let a = Process::of(&sandbox, "c");
    let leading = a.lead().await;
    a.network.set(NetworkState::Outage);
    leading.lost().await;
    drop(leading);
    sleep(seconds(60)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stolen_lease_ends_leadership_at_the_next_renewal() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(30)).await;
    let mut stolen = a.leases().get("website").await.unwrap();
    stolen.spec.as_mut().unwrap().holder_identity = Some("thief".into());
    let params = PostParams::default();
    a.leases()
        .replace("website", &params, &stolen)
        .await
        .unwrap();
    let seen = Instant::now();
    leading.lost().await;
    assert!(seen.elapsed() <= seconds(2), "{:?}", seen.elapsed());
    assert!(a.metric("leader_election_slowpath_total{name=\"website\"} 1"));
    // Another process holds the Lease, so there is nothing to release.
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "thief");
}

#[tokio::test(start_paused = true)]
async fn a_changed_or_deleted_lease_is_still_renewed() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(30)).await;
    let mut touched = a.leases().get("website").await.unwrap();
    touched.metadata.annotations = Some([("note".to_owned(), "1".to_owned())].into());
    let params = PostParams::default();
    a.leases()
        .replace("website", &params, &touched)
        .await
        .unwrap();
    sleep(seconds(30)).await;
    assert!(leading.holds());
    a.leases()
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    sleep(seconds(30)).await;
    assert!(leading.holds());
    assert_eq!(a.holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn two_processes_never_both_lead_when_the_lease_is_deleted() {
    for round in 0..50_u64 {
        let sandbox = sandbox();
        let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
        let first = a.lead().await;
        let standby = tokio::spawn(b.candidate().lead());
        // Each round deletes the Lease at another moment between two attempts of the standby.
        sleep(Duration::from_millis(10_000 + 137 * round)).await;
        let network_state = [
            NetworkState::Fine,
            NetworkState::Outage,
            NetworkState::Slow(seconds(1)),
            NetworkState::Deaf,
        ];
        let network_state = network_state[round as usize % 4];
        a.network.set(network_state);
        sleep(Duration::from_millis(53 * (round % 7))).await;
        let params = DeleteParams::default();
        b.leases().delete("website", &params).await.unwrap();
        let deleted = Instant::now();
        while !standby.is_finished() && deleted.elapsed() < seconds(30) {
            sleep(Duration::from_millis(50)).await;
            assert!(!(standby.is_finished() && first.holds()), "round {round}");
        }
        match network_state {
            NetworkState::Fine | NetworkState::Slow(_) => {
                assert!(first.holds() && !standby.is_finished(), "round {round}");
                assert_eq!(b.holder().await, "a");
                standby.abort();
            }
            NetworkState::Outage | NetworkState::Deaf => {
                assert!(standby.await.unwrap().holds());
                assert!(deleted.elapsed() >= seconds(15), "{:?}", deleted.elapsed());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_after_a_long_outage_still_waits_when_the_lease_is_gone() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let first = a.lead().await;
    let standby = tokio::spawn(b.candidate().lead());
    sleep(seconds(10)).await;
    b.network.set(NetworkState::Outage);
    sleep(seconds(60)).await;
    // The leader renewed just before and cannot renew any more.
    a.network.set(NetworkState::Outage);
    sandbox_leases(&sandbox)
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    b.network.set(NetworkState::Fine);
    while first.holds() {
        assert!(!standby.is_finished());
        sleep(Duration::from_millis(10)).await;
    }
    assert!(standby.await.unwrap().holds());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_has_seen_no_holder_creates_the_lease_at_once() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let begun = Instant::now();
    let leading = a.lead().await;
    leading.release().await.unwrap();
    let standby = Process::of(&sandbox, "b");
    let leading = standby.lead().await;
    leading.release().await.unwrap();
    sandbox_leases(&sandbox)
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    let _leading = Process::of(&sandbox, "c").lead().await;
    assert!(begun.elapsed() < seconds(1), "{:?}", begun.elapsed());
}

fn sandbox_leases(sandbox: &Sandbox) -> Api<Lease> {
    Process::of(sandbox, "somebody").leases()
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_release_does_not_prevent_the_release() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let conflict = Answer::status(409, "Conflict");
    let matcher = RequestMatcher::any().verb("update").resource("leases");
    sandbox.faults().answer(matcher, conflict, 2);
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_once_in_each_retry_period() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let _leading = a.lead().await;
    sleep(seconds(61)).await;
    let claims = "leader_election_renew_duration_seconds_count{name=\"website\"} 31";
    assert!(a.metric(claims), "{}", a.metrics.encode());
}

#[tokio::test(start_paused = true)]
async fn a_gate_opens_once_and_its_fence_closes_with_leadership() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let gate = LeadershipGate::new();
    let fenced: Api<ConfigMap> = Api::namespaced(&gate.fence(&a.client), "default");
    let create = |name| {
        let (fenced, object) = (&fenced, named(name));
        async move { fenced.create(&PostParams::default(), &object).await }
    };
    assert!(gate.permit().is_none() && gate.opened_at().is_none());
    assert!(create("before").await.is_ok());
    let leading = a.lead().await;
    let came = Instant::now();
    gate.open(&leading);
    sleep(seconds(5)).await;
    gate.open(&leading);
    assert!(gate.opened().await.holds() && gate.permit().is_some());
    assert_eq!(gate.opened_at(), Some(came));
    assert!(create("while").await.is_ok());
    drop(leading);
    let after = create("after").await;
    assert!(
        after
            .as_ref()
            .is_err_and(|error| matches!(error.kind(), ErrorKind::Fenced(_))),
        "{after:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_another_outran_has_no_trouble() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let matcher = RequestMatcher::any().verb("create").resource("leases");
    let outrun = Answer::status(409, "AlreadyExists");
    sandbox.faults().answer(matcher, outrun, 1);
    let candidate = Process::of(&sandbox, "a").candidate();
    let status = candidate.status();
    let lead = tokio::spawn(candidate.lead());
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        (status.phase(), status.last_error()),
        (Phase::StandingBy, None)
    );
    let _leading = lead.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_outage_lets_a_release_try_until_the_renew_deadline_and_not_longer() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    a.network.set(NetworkState::Outage);
    let begun = Instant::now();
    assert!(leading.release().await.is_err());
    let tried = begun.elapsed();
    assert!(tried > seconds(9) && tried <= seconds(10), "{tried:?}");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_forbidden_is_not_tried_again() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let matcher = RequestMatcher::any().verb("update").resource("leases");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(matcher, forbidden, 1);
    let begun = Instant::now();
    assert!(leading.release().await.is_err());
    assert!(begun.elapsed() < seconds(1), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_names_the_lease_that_it_holds() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let lease = a.leases().get("website").await.unwrap();
    assert!(lease.metadata.uid.is_some());
    assert_eq!(leading.lease().uid, lease.metadata.uid);
    assert_eq!(leading.lease().key.to_string(), "default/website");
}

#[tokio::test(start_paused = true)]
async fn two_processes_never_lead_at_once_whatever_the_network_does() {
    let sandbox = sandbox();
    let processes = [Process::of(&sandbox, "a"), Process::of(&sandbox, "b")];
    let leaders = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    let mut skies = Vec::new();
    let changes = Arc::new(AtomicUsize::new(0));
    for process in processes {
        skies.push(process.network.clone());
        let (leaders, changes) = (leaders.clone(), changes.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let leading = process.lead().await;
                assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "two lead");
                changes.fetch_add(1, Ordering::SeqCst);
                leading.lost().await;
                assert_eq!(leaders.fetch_sub(1, Ordering::SeqCst), 1);
                drop(leading);
            }
        }));
    }
    // The networks of the two processes change in steps of different lengths, so that the combinations differ.
    let kinds = [
        NetworkState::Fine,
        NetworkState::Outage,
        NetworkState::Slow(seconds(3)),
        NetworkState::Deaf,
        NetworkState::Fine,
        NetworkState::Slow(seconds(7)),
    ];
    for step in 0..600_usize {
        skies[0].set(kinds[step % 6]);
        skies[1].set(kinds[(step / 2 + 2) % 6]);
        sleep(Duration::from_millis(2300 + (step as u64 * 997) % 9000)).await;
        assert!(tasks.iter().all(|task| !task.is_finished()));
    }
    assert!(changes.load(Ordering::SeqCst) > 20, "{changes:?}");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_candidate_logs_the_missing_permission_and_tries_again() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let matcher = RequestMatcher::any().resource("leases");
    sandbox
        .faults()
        .answer(matcher, Answer::status(403, "Forbidden"), 3);
    let a = Process::of(&sandbox, "a");
    let candidate = a.candidate();
    let status = candidate.status();
    let lead = tokio::spawn(candidate.lead());
    sleep(Duration::from_millis(100)).await;
    assert!(
        status.last_error().unwrap().contains("injected fault"),
        "{status:?}"
    );
    let _leading = lead.await.unwrap();
    assert_eq!(status.last_error(), None);
}

/// On the system's clock, because the watchdog thread needs no runtime.
#[test]
fn a_runtime_that_is_blocked_does_not_hide_that_leadership_is_over() {
    let sandbox_and_lead = async {
        let sandbox = sandbox();
        let a = Process::of(&sandbox, "a");
        let (reported, is_reported) = std::sync::mpsc::channel();
        let settings = ElectionSettings::new("website").identity("a").times(
            seconds(2),
            Duration::from_millis(700),
            Duration::from_millis(200),
        );
        let election = Election::new(&a.client, settings, &a.metrics).unwrap();
        let leading = election
            .on_overdue(move || reported.send(()).unwrap())
            .lead()
            .await;
        let token = leading.token();
        // No other task of this runtime runs meanwhile.
        is_reported.recv_timeout(seconds(60)).unwrap();
        assert!(token.is_cancelled());
        assert!(!leading.holds());
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(sandbox_and_lead);
}

#[tokio::test(start_paused = true)]
async fn the_times_in_the_lease_come_from_the_clock_of_the_client() {
    let sandbox = sandbox();
    let mut a = Process::of(&sandbox, "a");
    let start = jiff::Timestamp::from_second(1_000_000_000).unwrap();
    a.client = a.client.with_clock(Clock::starting_at(start));
    let leading = a.lead().await;
    sleep(seconds(3600)).await;
    let lease = a.lease().await;
    let since_start = |time: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime>| {
        time.unwrap().0.duration_since(start).as_secs()
    };
    assert_eq!(since_start(lease.acquire_time), 0);
    let renewed = since_start(lease.renew_time);
    assert!((3595..=3600).contains(&renewed), "{renewed}");
    leading.release().await.unwrap();
}
