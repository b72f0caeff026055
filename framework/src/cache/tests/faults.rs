//! Nothing is missed, and one undecodable object affects no other object.

use super::*;
use crate::{
    cache::fake::{Answer, Streaming, broken, expired, status},
    metrics::Metrics,
};

/// The watch ends, and the server forgets everything that happens in `meanwhile`: only a list can help.
async fn lose_history(server: &FakeServer, meanwhile: impl FnOnce()) {
    seconds(5).await;
    server.close_watches();
    meanwhile();
    server.compact();
}

#[tokio::test(start_paused = true)]
async fn changes_during_a_lost_history_are_delivered_and_deletions_come_last() {
    let server = FakeServer::new();
    ["a", "b", "c", "d"]
        .into_iter()
        .for_each(|name| server.put(name));
    let (running, recorded) = Running::synced(&server).await;
    lose_history(&server, || {
        server.delete("a");
        server.put("b");
        server.delete("c");
        server.put("c");
        server.put("e");
    })
    .await;
    seconds(3).await;
    let expected = ["updated b", "recreated c", "added e", "vanished a"];
    assert_eq!(recorded.lines(), expected);
    assert_eq!(recorded.folded(), server.objects());
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(snapshot.resource_version(), Some(&*server.version()));
}

#[tokio::test(start_paused = true)]
async fn changes_during_a_broken_watch_are_delivered() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let (_running, recorded) = Running::synced(&server).await;
    seconds(5).await;
    server.end_watches(broken);
    server.delete("a");
    server.put("b");
    server.delete("b");
    server.put("b");
    run_ready_tasks().await;
    let expected = ["deleted a", "updated b", "deleted b", "added b"];
    assert_eq!(recorded.lines(), expected);
    assert!(
        server
            .requests()
            .iter()
            .all(|line| line.starts_with("watch"))
    );
}

#[tokio::test(start_paused = true)]
async fn during_a_list_changes_arrive_page_by_page_and_deletions_after_the_last_page() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..700).for_each(|number| server.put(&format!("o{number:04}")));
    let (running, recorded) = Running::synced(&server).await;
    server.answer_lists([Answer::Pass, Answer::Hang]);
    lose_history(&server, || {
        server.delete("o0001");
        server.put("o0002");
        server.put("o0650");
    })
    .await;
    seconds(3).await;
    assert_eq!(recorded.lines(), ["updated o0002"], "the first page");
    assert!(running.get("o0001").is_some());
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_failed_halfway_deletes_nothing_until_a_list_is_complete() {
    let server = FakeServer::new();
    server.without_watch_cache(500);
    (0..700).for_each(|number| server.put(&format!("o{number:04}")));
    let (_running, recorded) = Running::synced(&server).await;
    let oops = || Answer::Fail(status(500, "InternalError", "oops"));
    // The pauses between them are at least 0.8, 1.6 and 3.2 s, and at most twice that.
    server.answer_lists([Answer::Pass, oops(), oops(), oops()]);
    lose_history(&server, || server.delete("o0001")).await;
    server.requests();
    seconds(4).await;
    let requests = server.requests();
    let lists = requests.iter().filter(|line| line.starts_with("list"));
    assert!(lists.count() >= 2, "a page arrived: {requests:?}");
    assert_eq!(recorded.lines(), Vec::<String>::new());
    seconds(16).await;
    assert_eq!(recorded.lines(), ["vanished o0001"]);
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_object_keeps_its_arc_and_no_event_is_delivered() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let (running, recorded) = Running::synced(&server).await;
    let (a, b) = (running.get("a").unwrap(), running.get("b").unwrap());
    lose_history(&server, || server.put("b")).await;
    seconds(3).await;
    assert!(server.requests().contains(&"list at 2".into()));
    assert!(Arc::ptr_eq(&a, &running.get("a").unwrap()));
    assert!(!Arc::ptr_eq(&b, &running.get("b").unwrap()));
    assert_eq!(recorded.lines(), ["updated b"]);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_event_is_delivered_once() {
    let server = FakeServer::new();
    let (_running, recorded) = Running::synced(&server).await;
    server.put("a");
    server.repeat_last_event();
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["added a"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_is_left_out_of_lists_and_watches_and_counted() {
    for streaming in [Streaming::Unasked, Streaming::Served] {
        let (server, metrics) = (FakeServer::new().streaming(streaming), Metrics::new());
        ["a", ""].into_iter().for_each(|name| server.put(name));
        let running = Running::of(server.informer_with(&metrics));
        run_ready_tasks().await;
        assert!(running.informer.has_synced());
        server.put("");
        server.put("b");
        run_ready_tasks().await;
        assert_eq!(running.informer.lister().len(), 2);
        let misfits = metrics.informer("", "v1", "configmaps").misfits.get();
        assert_eq!(misfits, 2, "{streaming:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_undecodable_object_affects_no_other_object() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    server.put_undecodable("c");
    let running = Running::of(server.informer_with(&metrics));
    let recorded = RecordingListener::at(&running.informer);
    run_ready_tasks().await;
    assert!(running.informer.has_synced());
    assert_eq!(recorded.lines().len(), 3);

    // It decoded once: its entry stays, but reading it is an error.
    server.put_undecodable("a");
    server.put("b");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["undecodable a", "updated b"]);
    let lister = running.informer.lister();
    let error = lister
        .get(&ObjectKey::namespaced("default", "a"))
        .unwrap_err();
    assert!(error.to_string().contains("ConfigMap default/a"), "{error}");
    let listing = lister.list();
    assert_eq!((listing.items.len(), listing.undecodable.len()), (1, 2));
    assert!(
        server
            .requests()
            .iter()
            .filter(|line| line.starts_with("list"))
            .count()
            == 1
    );

    // A list brings the same versions again: no event is delivered, and nothing is counted.
    let errors = || metrics.informer("", "v1", "configmaps").decode_errors.get();
    assert_eq!(errors(), 2);
    lose_history(&server, || {}).await;
    server.advance();
    server.compact();
    seconds(3).await;
    assert!(recorded.lines().is_empty());
    assert_eq!(errors(), 2);

    // It is deleted when the server deletes it, and reading it succeeds again when it decodes.
    server.delete("c");
    server.put("a");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["undecodable deleted c", "updated a"]);
    assert!(running.get("a").is_some());
    assert_eq!(running.informer.status().undecodable, 0);
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_that_decoded_once_is_deleted_with_its_last_version() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, recorded) = Running::synced(&server).await;
    server.put_undecodable("a");
    server.delete("a");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["undecodable a", "vanished a"]);
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_with_another_uid_replaces_the_previous_object() {
    let server = FakeServer::new();
    server.put("a");
    let (_running, recorded) = Running::synced(&server).await;
    lose_history(&server, || {
        server.delete("a");
        server.put_undecodable("a");
    })
    .await;
    seconds(3).await;
    assert_eq!(recorded.lines(), ["recreated undecodable a"]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_request_is_reported_with_verb_resource_and_namespace_until_it_succeeds() {
    let server = FakeServer::new().in_namespace("x");
    let forbidden = || status(403, "Forbidden", "configmaps is forbidden: no role");
    server.answer_lists((0..3).map(|_| Answer::Fail(forbidden())));
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    assert_eq!(
        running.informer.status().last_error.as_deref(),
        Some(
            "cannot list configmaps in namespace \"x\": configmaps is forbidden: no role: bind this \
             identity to a Role in x with apiGroups: [\"\"], resources: [\"configmaps\"], \
             verbs: [\"get\", \"list\", \"watch\"]"
        )
    );
    assert!(!running.informer.has_synced());
    assert!(running.informer.synced().await, "the list is retried");
    run_ready_tasks().await;
    assert_eq!(running.informer.status().to_string(), "synced");

    seconds(40).await;
    server.fail_watches([forbidden()]);
    server.end_watches(expired);
    server.requests();
    // Pauses are random: wait until the failure is reported.
    let told = async {
        loop {
            match running.informer.status().last_error {
                Some(text) => break text,
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(60), told).await;
    let text = told.expect("a watch that was refused");
    assert!(
        text.starts_with("cannot watch configmaps in namespace \"x\": "),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_decoding_is_a_failure_and_is_retried() {
    let server = FakeServer::new();
    server.put("a");
    server.answer_lists([Answer::Panic]);
    let running = Running::of(server.informer());
    run_ready_tasks().await;
    let text = running.informer.status().last_error.unwrap();
    assert!(text.starts_with("cannot read configmaps"), "{text}");
    seconds(2).await;
    assert!(running.informer.has_synced());
    assert_eq!(running.informer.status().last_error, None);
}
