//! R11: one of several processes works. R5: after a takeover it works on what the others wrote.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pilothouse_sandbox::{Answer, RequestMatcher};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    election::{ElectionSettings, Phase},
    health::Query,
    operator::{Operator, OperatorError},
    resource::AccessRule,
};

#[tokio::test(start_paused = true)]
async fn a_standby_with_full_caches_is_ready_and_names_the_leader_and_reconciles_nothing() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let (scribe, idle) = (Scribe::quick(), Scribe::quick());
    let leader = a.start(a.operator(&scribe)).await;
    sleep(seconds(5)).await;
    let standby = b.start(b.operator(&idle)).await;
    sleep(seconds(60)).await;
    assert!(count(&scribe.done) > 0);
    assert_eq!(count(&idle.begun), 0);
    assert!(is_ready(&leader) && is_ready(&standby));
    assert_eq!(
        ready(&leader, "leader-election"),
        "[+]leader-election ok: leading as a"
    );
    assert_eq!(
        ready(&standby, "leader-election"),
        "[+]leader-election ok: standing by; a leads"
    );
    assert_eq!(
        ready(&standby, "informer-secrets"),
        "[+]informer-secrets ok"
    );
    assert_eq!(leader.election().unwrap().phase(), Phase::Leading);
    assert_eq!(standby.election().unwrap().phase(), Phase::StandingBy);
    assert!(
        writes(&sandbox)
            .iter()
            .all(|write| sender(write) != "b" || write.resource == "leases")
    );
    leader.stop().await;
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_hands_over_at_once_and_its_last_request_is_the_release() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(b.operator(&scribe)).await;
    sleep(seconds(20)).await;
    let before = sandbox.requests().len();
    leader.stop().await;
    let last = sandbox.requests()[before..].to_vec();
    let last: Vec<_> = last.iter().filter(|one| sender(one) == "a").collect();
    let release = last.last().unwrap();
    assert_eq!(
        (release.verb.as_str(), release.resource.as_str()),
        ("update", "leases")
    );
    assert_eq!(b.holder().await, "");
    // The Event about the end of the leadership is sent before the release.
    assert!(last.iter().any(|one| one.resource == "events"), "{last:?}");
    // The standby tries again after at most 4.4 s.
    sleep(seconds(5)).await;
    assert_eq!(b.holder().await, "b");
    assert!(count(&scribe.done) > 0);
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn when_leadership_is_lost_reconciles_are_cancelled_and_the_operator_ends() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    for number in 0..20 {
        a.create(&format!("map-{number}")).await;
    }
    let slow = Scribe::taking(seconds(40));
    let operator = a.operator(&slow);
    let running = tokio::spawn(operator.run(a.client.clone(), CancellationToken::new()));
    sleep(seconds(20)).await;
    assert_eq!(count(&slow.running), 20);
    let quick = Scribe::quick();
    let standby = b.start(b.operator(&quick)).await;
    sleep(seconds(5)).await;
    a.network.outage(true);
    let away = Instant::now();
    let ended = running.await.unwrap().unwrap_err();
    // 10 s after the last renewal, not 25 s later.
    assert!(away.elapsed() <= seconds(11), "{:?}", away.elapsed());
    assert!(matches!(ended, OperatorError::LeadershipLost { .. }));
    let begin = "leadership was lost: the Lease default/scribe was not renewed in time: the last renewal failed: ";
    assert!(ended.to_string().starts_with(begin), "{ended}");
    assert_eq!((count(&slow.running), count(&slow.done)), (0, 0));
    a.network.outage(false);
    sleep(seconds(20)).await;
    assert!(count(&quick.done) >= 20);
    let writes = writes(&sandbox);
    let first = writes
        .iter()
        .position(|write| sender(write) == "b" && write.resource == "secrets");
    let late = writes[first.unwrap()..]
        .iter()
        .find(|write| sender(write) == "a");
    assert_eq!(late, None);
    standby.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_former_leader_names_the_new_holder_and_sends_only_the_event_that_it_stopped() {
    let sandbox = sandbox();
    let (a, thief) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "thief"));
    a.create("one").await;
    let slow = Scribe::taking(seconds(600));
    let running = tokio::spawn(
        a.operator(&slow)
            .run(a.client.clone(), CancellationToken::new()),
    );
    sleep(seconds(10)).await;
    let mut lease = thief.lease().await;
    lease.spec.as_mut().unwrap().holder_identity = Some("thief".into());
    let leases = crate::client::Api::namespaced(&thief.client, "default");
    let params = crate::client::PostParams::default();
    leases.replace("scribe", &params, &lease).await.unwrap();
    let before = sandbox.requests().len();
    let ended = timeout(seconds(3), running).await.unwrap().unwrap();
    assert_eq!(
        ended.unwrap_err().to_string(),
        "leadership was lost: thief now holds the Lease default/scribe"
    );
    let mut after = sandbox.requests()[before..].to_vec();
    after.retain(|one| one.method != "GET" && one.resource != "leases");
    let after: Vec<_> = after.iter().map(|one| one.resource.as_str()).collect();
    assert_eq!(after, ["events"]);
    assert_eq!(
        notes(&thief).await,
        ["a became leader", "a stopped leading"]
    );
    assert_eq!(thief.holder().await, "thief");
}

/// The notes of the Events about the Lease.
async fn notes(process: &Process) -> Vec<String> {
    use k8s_openapi::api::events::v1::Event;
    let lease = process.lease().await;
    let events = crate::client::Api::<Event>::namespaced(&process.client, "default");
    let list = events.list(&Default::default()).await.unwrap();
    let mut notes = Vec::new();
    for event in list.items {
        let regarding = event.regarding.unwrap();
        assert_eq!(regarding.kind.as_deref(), Some("Lease"));
        assert_eq!(regarding.uid, lease.metadata.uid);
        assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
        notes.push(event.note.unwrap());
    }
    notes.sort();
    notes
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_leader_is_an_event_of_the_lease() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let settings = crate::election::ElectionSettings::new("scribe")
        .on_tokio_clock()
        .identity("a")
        .label("team", "web");
    let leader = a
        .start(a.unelected(&Scribe::quick()).election(settings))
        .await;
    sleep(seconds(10)).await;
    leader.stop().await;
    let lease = a.lease().await;
    assert_eq!(lease.metadata.labels.unwrap()["team"], "web");
    assert_eq!(notes(&a).await, ["a became leader", "a stopped leading"]);
}

#[tokio::test(start_paused = true)]
async fn only_one_of_two_operators_writes_when_the_lease_is_deleted() {
    use crate::client::{Api, DeleteParams};
    use k8s_openapi::api::coordination::v1::Lease;
    for round in 0..10_u64 {
        let sandbox = sandbox();
        let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
        let leader = a.start(a.operator(&Scribe::quick())).await;
        sleep(seconds(5)).await;
        let standby = b.start(b.operator(&Scribe::quick())).await;
        sleep(Duration::from_millis(5000 + 431 * round)).await;
        let leases: Api<Lease> = Api::namespaced(&b.client, "default");
        let params = DeleteParams::default();
        leases.delete("scribe", &params).await.unwrap();
        for number in 0..40 {
            let somebody = Process::of(&sandbox, "somebody");
            somebody.create(&format!("map-{number}")).await;
            sleep(Duration::from_millis(500)).await;
        }
        let secrets = writes(&sandbox);
        let secrets: Vec<_> = secrets
            .iter()
            .filter(|one| one.resource == "secrets")
            .map(sender)
            .collect();
        assert_eq!(secrets, ["a"; 40], "round {round}");
        assert_eq!(b.holder().await, "a");
        leader.stop().await;
        standby.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_cannot_take_part_is_not_ready_even_if_a_kind_is_forbidden() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let forbidden = || Answer::status(403, "Forbidden");
    let matcher = |resource| RequestMatcher::any().resource(resource);
    sandbox
        .faults()
        .answer(matcher("leases"), forbidden(), usize::MAX);
    let operator = a.operator(&Scribe::quick());
    let running = a.start(operator).await;
    sleep(seconds(5)).await;
    let line = ready(&running, "leader-election");
    assert!(
        line.starts_with("[-]leader-election failed: cannot take part in the election: "),
        "{line}"
    );
    running.stop().await;

    sandbox.faults().clear();
    sandbox
        .faults()
        .answer(matcher("secrets"), forbidden(), usize::MAX);
    let operator = a.operator(&Scribe::quick());
    let running = operator.start(a.client.clone()).await.unwrap();
    sleep(seconds(20)).await;
    assert_eq!(running.election().unwrap().phase(), Phase::Leading);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_lease_that_was_lost_names_the_refused_renewal_and_the_rule() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(20)).await;
    let leases = RequestMatcher::any().resource("leases");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(leases, forbidden, usize::MAX);
    let ended = running.run_until(CancellationToken::new()).await;
    let text = ended.unwrap_err().to_string();
    assert!(
        text.contains("the last renewal failed: ")
            && text.ends_with(
                "bind this identity to a Role in default with apiGroups: [\"coordination.k8s.io\"], \
                 resources: [\"leases\"], verbs: [\"get\", \"create\", \"update\"]"
            ),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_loses_its_permission_for_the_lease_is_not_ready() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leader = a.start(a.operator(&Scribe::quick())).await;
    let standby = b.start(b.operator(&Scribe::quick())).await;
    sleep(seconds(20)).await;
    let line = ready(&standby, "leader-election");
    assert_eq!(line, "[+]leader-election ok: standing by; a leads");
    let leases = RequestMatcher::any().resource("leases");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(leases, forbidden, usize::MAX);
    sleep(seconds(5)).await;
    let line = ready(&standby, "leader-election");
    assert!(
        line.starts_with("[-]leader-election failed: cannot take part in the election: "),
        "{line}"
    );
    sandbox.faults().clear();
    sleep(seconds(60)).await;
    let line = ready(&standby, "leader-election");
    assert!(line.starts_with("[+]leader-election ok"), "{line}");
    standby.stop().await;
    leader.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_waits_for_a_forbidden_kind_and_a_slow_one_takes_part() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let secrets = RequestMatcher::any().resource("secrets");
    let forbidden = Answer::status(403, "Forbidden");
    sandbox.faults().answer(secrets, forbidden, usize::MAX);
    a.network.hangs("/configmaps");
    let operator = a.operator(&Scribe::quick());
    let running = operator.start(a.client.clone()).await.unwrap();
    sleep(seconds(20)).await;
    assert_eq!(running.election().unwrap().phase(), Phase::Leading);
    running.stop().await;
}

struct Frees(Arc<AtomicBool>);

impl Drop for Frees {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// On the real clock, because a task that blocks its thread would stop a paused one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn liveness_fails_while_work_outlives_leadership_and_only_then() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let (blocks, free) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let stone = (blocks.clone(), free.clone());
    // Unblocks the thread even if the test fails, because the runtime waits for it.
    let free = Frees(free);
    let settings = ElectionSettings::new("scribe")
        .on_tokio_clock()
        .identity("a");
    let operator = Operator::new("scribe")
        .election(settings.times(seconds(120), seconds(2), seconds(1)))
        .leader_runnable("stone", |_, _| async move {
            stone.0.store(true, Ordering::SeqCst);
            while !stone.1.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        });
    let running = operator.start(a.client.clone()).await.unwrap();
    let live = running.live().clone();
    let report = move || live.report(&Query::default());
    let until = async |done: &(dyn Fn() -> bool + Sync)| {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < seconds(60));
            sleep(Duration::from_millis(10)).await;
        }
    };
    until(&|| blocks.load(Ordering::SeqCst)).await;
    assert!(report().healthy());
    a.network.outage(true);
    let running = tokio::spawn(running.run_until(CancellationToken::new()));
    until(&|| !report().healthy()).await;
    let text = report().to_string();
    let line = "[-]leader-election failed: leadership was lost, but work still runs";
    assert!(text.contains(line), "{text}");
    drop(free);
    let ended = running.await.unwrap().unwrap_err();
    assert!(matches!(ended, OperatorError::LeadershipLost { .. }));
    assert!(report().healthy());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_operator_releases_the_lease_after_its_work_has_ended() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    a.create("one").await;
    let slow = Scribe::taking(seconds(600));
    let running = a.start(a.operator(&slow)).await;
    sleep(seconds(10)).await;
    assert_eq!((a.holder().await.as_str(), count(&slow.running)), ("a", 1));
    drop(running);
    sleep(seconds(1)).await;
    assert_eq!((a.holder().await.as_str(), count(&slow.running)), ("", 0));
}

#[tokio::test(start_paused = true)]
async fn the_permissions_of_the_election_are_declared_and_invalid_settings_are_refused() {
    use k8s_openapi::api::coordination::v1::Lease;
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let running = a.start(a.operator(&Scribe::quick())).await;
    let leases =
        |verbs: &[&str]| AccessRule::of::<Lease>(verbs.iter().copied()).in_namespace("default");
    let with = running.access();
    let expected = with.clone().and(leases(&["create"]));
    assert_eq!(
        expected.and(leases(&["get", "update"]).named("scribe")),
        with
    );
    // Events about the Lease.
    assert!(
        with.to_string()
            .contains("events.events.k8s.io in default: create, patch"),
        "{with}"
    );
    running.stop().await;

    let settings = crate::election::ElectionSettings::new("scribe")
        .on_tokio_clock()
        .times(seconds(5), seconds(5), seconds(1));
    let operator = a.unelected(&Scribe::quick()).election(settings);
    let refused = operator.start(a.client.clone()).await.unwrap_err();
    assert!(
        refused.to_string().contains("two processes could lead"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_takeover_no_reconcile_starts_with_an_old_cache() {
    use crate::client::{Api, Patch, PatchParams};
    use k8s_openapi::api::core::v1::ConfigMap;
    use pilothouse_sandbox::RequestMatcher;
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let api: Api<ConfigMap> = Api::namespaced(&a.client, "default");
    let write = async |value: &str| {
        let patch = Patch::Merge(serde_json::json!({"data": {"value": value}}));
        let params = PatchParams::default();
        api.patch("one", &params, &patch).await.unwrap();
    };
    write("old").await;
    let leader = a.start(a.operator(&Scribe::quick())).await;
    sleep(seconds(5)).await;
    let scribe = Scribe::quick();
    let standby = b.start(b.operator(&scribe)).await;
    // The standby's watch receives nothing of the leader's last writes.
    let maps = RequestMatcher::any().verb("watch").resource("configmaps");
    sandbox.faults().hold_watches(maps);
    write("new").await;
    leader.stop().await;
    sleep(seconds(60)).await;
    let saw = scribe.saw.lock().clone();
    assert_eq!(saw.first().map(String::as_str), Some("new"), "{saw:?}");
    assert!(saw.iter().all(|value| value == "new"), "{saw:?}");
    standby.stop().await;
}
