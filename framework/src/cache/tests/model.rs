//! Random steps of server, network and cache. At the end every copy equals the state of the server. No wrong event is
//! delivered before that.

use proptest::prelude::*;

use super::*;
use crate::cache::fake::{
    Answer, StreamFault, Streaming, broken, expired, forbidden, half_a_frame, refused, status,
    throttled, unsupported,
};
use crate::{
    cache::{InformerScope, Informers},
    client::{Client, Config, Error},
    metrics::Metrics,
    resource::ApiResource,
};

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
    CutAFrame,
    FailWatches,
    ExpireWatches,
    ThrottleWatches,
    MuteWatches,
    FailList(u8),
    FailWatch(u8),
    CutStream(StreamFault),
    AnswerStale,
    RepeatEvent,
    LoseEvents(u8),
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
        1 => Just(Step::CutAFrame),
        1 => Just(Step::FailWatches),
        1 => Just(Step::ExpireWatches),
        1 => Just(Step::ThrottleWatches),
        1 => Just(Step::MuteWatches),
        2 => (0..6u8).prop_map(Step::FailList),
        2 => (0..6u8).prop_map(Step::FailWatch),
        3 => stream_fault().prop_map(Step::CutStream),
        2 => Just(Step::AnswerStale),
        1 => Just(Step::RepeatEvent),
        1 => (1..4u8).prop_map(Step::LoseEvents),
        1 => Just(Step::AddListener),
        3 => Just(Step::Settle),
        3 => (1..200u64).prop_map(Step::Wait),
    ]
}

fn stream_fault() -> impl Strategy<Value = StreamFault> {
    let internal = || status(500, "InternalError", "oops");
    let error = prop_oneof![
        Just(broken as fn() -> Error),
        Just(expired as fn() -> Error),
        Just(half_a_frame as fn() -> Error),
        Just(internal as fn() -> Error),
        Just((|| throttled(2)) as fn() -> Error),
    ];
    prop_oneof![
        2 => (0..9usize).prop_map(StreamFault::Closes),
        3 => (0..9usize, error).prop_map(|(after, error)| StreamFault::Fails(after, error)),
        1 => (0..9usize).prop_map(StreamFault::Mute),
        1 => Just(StreamFault::Unmarked),
    ]
}

fn streaming() -> impl Strategy<Value = Streaming> {
    prop_oneof![
        1 => Just(Streaming::Unasked),
        4 => Just(Streaming::Served),
        1 => Just(Streaming::Refused(unsupported)),
        1 => Just(Streaming::Ignored),
    ]
}

async fn play(
    steps: Vec<Step>,
    streaming: Streaming,
    paged: bool,
    in_stream: bool,
    by_key: bool,
) -> Result<(), TestCaseError> {
    let server = FakeServer::new().streaming(streaming);
    // Version 0 never belongs to a collection: in a request it means any version.
    server.advance();
    let mut lost = false;
    if paged {
        server.without_watch_cache(3);
    }
    if in_stream {
        server.expire_in_stream();
    }
    let informers = informers(by_key);
    let source = server.clone();
    let kind = ApiResource::of::<ConfigMap>();
    let informer = informers.of_source(kind, InformerScope::all(), move |_| source.clone());
    let running = Running::of(informer);
    let mut listeners = vec![RecordingListener::at(&running.informer)];
    let name = |number: u8| format!("o{number}");
    for step in steps {
        match step {
            Step::Put(number) => server.put(&name(number)),
            Step::PutBad(number) => server.put_undecodable(&name(number)),
            Step::Delete(number) => server.delete(&name(number)),
            Step::Recreate(number) => {
                server.delete(&name(number));
                server.put(&name(number));
            }
            Step::Bookmark => server.bookmark(),
            Step::Compact => server.compact(),
            Step::CloseWatches => server.close_watches(),
            Step::BreakWatches => server.end_watches(broken),
            Step::CutAFrame => server.end_watches(half_a_frame),
            Step::FailWatches => server.end_watches(|| status(500, "InternalError", "oops")),
            Step::ExpireWatches => server.end_watches(expired),
            Step::ThrottleWatches => server.end_watches(|| throttled(3)),
            Step::MuteWatches => server.mute_watches(),
            Step::FailList(0) => server.answer_lists([Answer::Pass, Answer::Fail(expired())]),
            Step::FailList(number) => server.answer_lists([Answer::Fail(failure(number))]),
            Step::FailWatch(number) => server.fail_watches([failure(number)]),
            Step::CutStream(fault) => server.fail_streams([fault]),
            Step::AnswerStale => server.answer_stale(1),
            Step::RepeatEvent => server.repeat_last_event(),
            Step::LoseEvents(count) => {
                server.lose_events(count.into());
                lost = true;
            }
            Step::AddListener => listeners.push(RecordingListener::at(&running.informer)),
            Step::Settle => run_ready_tasks().await,
            Step::Wait(time) => seconds(time).await,
        }
    }
    server.heal();
    if lost {
        // No watch can tell that an event is missing: the next list corrects it.
        server.advance();
        server.compact();
        server.end_watches(expired);
    }
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
    for recorded in &listeners {
        prop_assert_eq!(recorded.wrong(), Vec::<String>::new());
        prop_assert_eq!(&recorded.folded(), &stored);
        prop_assert!(recorded.subscription.synced().await);
    }
    running.cancel.cancel();
    prop_assert!(running.task.await.is_ok());
    prop_assert_eq!(server.open_watches(), 0);
    Ok(())
}

/// Informers whose queues keep the order of all deltas, or gather the deltas of each object.
fn informers(by_key: bool) -> Informers {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let builder = Informers::builder(Client::new(config).unwrap(), Metrics::new());
    match by_key {
        true => builder.delta_fifo::<ConfigMap>().build(),
        false => builder.build(),
    }
}

fn failure(number: u8) -> crate::client::Error {
    match number {
        0 => throttled(1),
        1 => expired(),
        2 => refused(),
        3 => forbidden(),
        4 => status(504, "Timeout", "Too large resource version: 9, current: 1"),
        _ => status(500, "InternalError", "oops"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn in_the_end_the_store_and_the_events_equal_the_state_of_the_server(
        steps in prop::collection::vec(step(), 0..60),
        streaming in streaming(),
        paged: bool,
        in_stream: bool,
        by_key: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps, streaming, paged, in_stream, by_key))?;
    }
}
