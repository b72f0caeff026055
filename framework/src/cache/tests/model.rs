//! Whatever happens, in the end every copy is the server's, and on the way nothing is told wrongly.

use proptest::prelude::*;

use super::*;
use crate::cache::fake::{Answer, broken, expired, refused, status, throttled};

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    PutBad(u8),
    Delete(u8),
    Recreate(u8),
    Bookmark,
    Compact,
    CloseWatches,
    BreakWatches,
    ExpireWatches,
    ThrottleWatches,
    MuteWatches,
    FailList(u8),
    FailWatch(u8),
    AddListener,
    Settle,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..8u8;
    prop_oneof![
        8 => name().prop_map(Step::Put),
        2 => name().prop_map(Step::PutBad),
        4 => name().prop_map(Step::Delete),
        2 => name().prop_map(Step::Recreate),
        1 => Just(Step::Bookmark),
        2 => Just(Step::Compact),
        2 => Just(Step::CloseWatches),
        2 => Just(Step::BreakWatches),
        1 => Just(Step::ExpireWatches),
        1 => Just(Step::ThrottleWatches),
        1 => Just(Step::MuteWatches),
        2 => (0..4u8).prop_map(Step::FailList),
        2 => (0..4u8).prop_map(Step::FailWatch),
        1 => Just(Step::AddListener),
        3 => Just(Step::Settle),
        3 => (1..200u64).prop_map(Step::Wait),
    ]
}

async fn play(steps: Vec<Step>, paged: bool, in_stream: bool) -> Result<(), TestCaseError> {
    let server = FakeServer::new();
    if paged {
        server.without_watch_cache(3);
    }
    if in_stream {
        server.expire_in_stream();
    }
    let running = Running::of(server.informer());
    let mut listeners = vec![Heard::at(&running.informer)];
    let name = |number: u8| format!("o{number}");
    for step in steps {
        match step {
            Step::Put(number) => server.put(&name(number)),
            Step::PutBad(number) => server.put_bad(&name(number)),
            Step::Delete(number) => server.delete(&name(number)),
            Step::Recreate(number) => {
                server.delete(&name(number));
                server.put(&name(number));
            }
            Step::Bookmark => server.bookmark(),
            Step::Compact => server.compact(),
            Step::CloseWatches => server.close_watches(),
            Step::BreakWatches => server.end_watches(broken),
            Step::ExpireWatches => server.end_watches(expired),
            Step::ThrottleWatches => server.end_watches(|| throttled(3)),
            Step::MuteWatches => server.mute_watches(),
            Step::FailList(0) => server.answer_lists([Answer::Pass, Answer::Fail(expired())]),
            Step::FailList(number) => server.answer_lists([Answer::Fail(failure(number))]),
            Step::FailWatch(number) => server.fail_watches([failure(number)]),
            Step::AddListener => listeners.push(Heard::at(&running.informer)),
            Step::Settle => settle().await,
            Step::Wait(time) => seconds(time).await,
        }
    }
    server.heal();
    // Long enough for every pause and for a silent stream.
    seconds(600).await;
    let stored = running.informer.lister().snapshot();
    let line = |(key, entry): (&ObjectKey, &crate::cache::Entry<ConfigMap>)| {
        let version = entry.resource_version().unwrap_or_default();
        let mark = if entry.undecodable().is_some() {
            "!"
        } else {
            ""
        };
        (key.name().to_owned(), format!("{mark}{version}"))
    };
    let stored: std::collections::BTreeMap<String, String> = stored.iter().map(line).collect();
    prop_assert_eq!(&stored, &server.objects());
    for heard in &listeners {
        prop_assert_eq!(heard.wrong(), Vec::<String>::new());
        prop_assert_eq!(&heard.folded(), &stored);
        prop_assert!(heard.subscription.synced().await);
    }
    running.cancel.cancel();
    prop_assert!(running.task.await.is_ok());
    prop_assert_eq!(server.open_watches(), 0);
    Ok(())
}

fn failure(number: u8) -> crate::client::Error {
    match number {
        0 => throttled(1),
        1 => expired(),
        2 => refused(),
        _ => status(500, "InternalError", "oops"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn in_the_end_the_store_and_what_the_listeners_heard_are_the_servers(
        steps in prop::collection::vec(step(), 0..60),
        paged: bool,
        in_stream: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps, paged, in_stream))?;
    }
}
