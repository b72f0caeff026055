//! Runs the same scenario with an informer of client-go and with ours, and checks that handlers receive the same events
//! except for the [`DIVERGENCES`]. Both watch one sandbox over HTTPS at the same time, so that versions can be compared.
//!
//! `PILOTHOUSE_CLIENT_GO_INFORMER` names the program of `tests/kubectl/informer`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::Write,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use pilothouse::{
    cache::{Entry, Event, InformerScope, Informers, SharedInformer},
    client::{
        Api, Client, Config, DeleteParams, KubeconfigOptions, Patch, PatchParams, PostParams,
    },
    k8s::api::core::v1::{ConfigMap, Namespace},
    metrics::Metrics,
    resource::ObjectMeta,
};
use pilothouse_sandbox::{Answer, HttpsServer, RequestMatcher, Sandbox};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

const PROGRAM: &str = "PILOTHOUSE_CLIENT_GO_INFORMER";
const NAMESPACE: &str = "story";
const SELECTOR: &str = "watched=yes";
/// Longer than the longest pause of client-go.
const PATIENCE: Duration = Duration::from_secs(120);

/// The name of a difference, its reason, and a function that makes both sides of a phase equal.
type Divergence = (&'static str, &'static str, fn(&mut Phase));

/// The intended differences from client-go. Each row is needed: without it the two sides of the scenario differ.
const DIVERGENCES: &[Divergence] = &[
    (
        "recreation",
        "an object that was deleted and created again unseen is not an update: a handler that keeps state per object \
         must drop it, and most handlers forget to compare the UIDs",
        |phase| {
            for line in &mut phase.ours {
                if line.event == "recreated" {
                    line.event = "updated".into();
                    line.recreated = true;
                }
            }
        },
    ),
    (
        "deletions come last",
        "our informer processes a list page by page as it arrives, and knows the missing objects only at its end",
        |phase| {
            phase
                .ours
                .sort_by_key(|line| (line.listener, !line.last_known))
        },
    ),
    (
        "unchanged objects",
        "client-go delivers an unchanged object of a list again to handlers without a resync; it is not a change",
        |phase| {
            let unchanged = |line: &Line| !line.recreated && line.old == line.version;
            phase
                .theirs
                .retain(|line| line.event != "updated" || !unchanged(line));
        },
    ),
    (
        "broken streams",
        "client-go treats a stream that was cut in its middle as undecodable, and lists; our informer continues at its \
         position, so that it misses no state",
        |phase| {
            if phase.delivery == Delivery::Broken {
                for side in [&mut phase.ours, &mut phase.theirs] {
                    *side = outcome(side);
                }
            }
        },
    ),
    (
        "order of names",
        "client-go delivers a list in the order of a hash table, our informer in the order of the server",
        |phase| {
            for side in [&mut phase.ours, &mut phase.theirs] {
                // Do not mix the events of a list with single changes.
                let together = |a: &Line, b: &Line| {
                    (a.listener, a.initial, a.last_known) == (b.listener, b.initial, b.last_known)
                };
                if phase.delivery == Delivery::Listed {
                    side.chunk_by_mut(together)
                        .for_each(|run| run.sort_by(|a, b| a.name.cmp(&b.name)));
                }
            }
        },
    ),
];

/// An event of a handler.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
struct Line {
    listener: usize,
    event: String,
    name: String,
    version: String,
    #[serde(default)]
    old: String,
    #[serde(default)]
    initial: bool,
    #[serde(default)]
    recreated: bool,
    #[serde(default)]
    last_known: bool,
}

impl Line {
    fn of(listener: usize, event: &Event<ConfigMap>) -> Self {
        let (what, object) = match event {
            Event::Added { object, .. } => ("added", object),
            Event::Updated { new, .. } => ("updated", new),
            Event::Recreated { new, .. } => ("recreated", new),
            Event::Deleted { object, .. } => ("deleted", object),
            other => panic!("{other:?}"),
        };
        let old = match event {
            Event::Updated { old, .. } | Event::Recreated { old, .. } => version(old),
            _ => String::new(),
        };
        Self {
            listener,
            event: what.into(),
            name: object.key().name().into(),
            version: version(object),
            old,
            initial: matches!(event, Event::Added { initial: true, .. }),
            recreated: false,
            last_known: matches!(
                event,
                Event::Deleted {
                    final_state_known: false,
                    ..
                }
            ),
        }
    }
}

/// Returns the last event of each object.
fn outcome(lines: &[Line]) -> Vec<Line> {
    let mut outcome = BTreeMap::new();
    for line in lines {
        outcome.insert((line.listener, &line.name), line);
    }
    // No list contains an object that came and went.
    let brief = |line: &Line| {
        let mut earlier = lines
            .iter()
            .filter(|one| (one.listener, &one.name) == (line.listener, &line.name));
        line.event == "deleted" && earlier.next().is_some_and(|first| first.event == "added")
    };
    outcome
        .into_values()
        .filter(|line| !brief(line))
        .map(|line| Line {
            version: if line.event == "deleted" {
                String::new()
            } else {
                line.version.clone()
            },
            event: if line.event == "deleted" {
                "deleted"
            } else {
                "present"
            }
            .into(),
            old: String::new(),
            recreated: false,
            last_known: false,
            ..line.clone()
        })
        .collect()
}

fn version(object: &Entry<ConfigMap>) -> String {
    object.resource_version().unwrap_or_default().to_owned()
}

/// How the two informers learn of the changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// Both receive each step.
    Watched,
    /// Both must list, and the states in between are lost.
    Listed,
    /// The stream broke in its middle, and the server still has the history.
    Broken,
}

/// A phase of the scenario, and the events of both informers.
#[derive(Clone)]
struct Phase {
    name: &'static str,
    delivery: Delivery,
    ours: Vec<Line>,
    theirs: Vec<Line>,
}

impl Phase {
    /// Returns the events of both sides without applying the divergence of this number.
    fn without(&self, row: Option<usize>) -> (Vec<Line>, Vec<Line>) {
        let mut phase = self.clone();
        for side in [&mut phase.ours, &mut phase.theirs] {
            // Compare the events of each handler separately.
            side.sort_by_key(|line| line.listener);
        }
        for (number, (_, _, allow)) in DIVERGENCES.iter().enumerate() {
            if Some(number) != row {
                allow(&mut phase);
            }
        }
        (phase.ours, phase.theirs)
    }
}

type Lines = Arc<Mutex<Vec<Line>>>;

fn lock(lines: &Lines) -> MutexGuard<'_, Vec<Line>> {
    lines.lock()
}

/// One sandbox with both informers.
struct Comparison {
    sandbox: Sandbox,
    _server: HttpsServer,
    maps: Api<ConfigMap>,
    ours: Lines,
    theirs: Lines,
    informers: Informers,
    informer: SharedInformer<ConfigMap>,
    input: ChildStdin,
    _program: Child,
    listeners: usize,
    marks: usize,
    phases: Vec<Phase>,
}

impl Comparison {
    async fn begin(program: &str, before: &[&str]) -> Self {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let server = sandbox
            .serve_https(([127, 0, 0, 1], 0).into())
            .await
            .unwrap();
        let home = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(home.path(), sandbox.kubeconfig(&server)).unwrap();
        let options = KubeconfigOptions {
            path: Some(home.path().to_owned()),
            ..Default::default()
        };
        let client = Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap();
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(NAMESPACE.into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let params = PostParams::default();
        Api::<Namespace>::all(&client)
            .create(&params, &namespace)
            .await
            .unwrap();
        let maps = Api::<ConfigMap>::namespaced(&client, NAMESPACE);
        for name in before {
            create(&maps, name).await;
        }

        let informers = Informers::new(client, Metrics::new());
        let scope = InformerScope::all().namespace(NAMESPACE).labels(SELECTOR);
        let informer = informers.informer::<ConfigMap>(scope);
        let mut program = Command::new(program)
            .arg(home.path())
            .args(["/v1/configmaps", NAMESPACE, SELECTOR])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (
            program.stdin.take().unwrap(),
            program.stdout.take().unwrap(),
        );
        let theirs = Lines::default();
        let own = theirs.clone();
        tokio::spawn(async move {
            let _home = home;
            let mut output = BufReader::new(output).lines();
            while let Some(line) = output.next_line().await.unwrap() {
                lock(&own).push(serde_json::from_str(&line).unwrap());
            }
        });
        let mut comparison = Self {
            sandbox,
            _server: server,
            maps,
            ours: Lines::default(),
            theirs,
            informers,
            informer,
            input,
            _program: program,
            listeners: 0,
            marks: 0,
            phases: Vec::new(),
        };
        comparison.listen();
        comparison.informers.start(&CancellationToken::new());
        comparison
    }

    fn listen(&mut self) {
        let (lines, number) = (self.ours.clone(), self.listeners);
        self.informer
            .add_listener(move |event| lock(&lines).push(Line::of(number, event)));
        self.listeners += 1;
    }

    async fn listen_late(&mut self) {
        self.listen();
        self.input.write_all(b"listen\n").await.unwrap();
    }

    /// Ends a phase when both informers have delivered all of its events.
    async fn phase(&mut self, name: &'static str, delivery: Delivery) {
        // A list that delivered the first mark cannot contain an object that was created after that mark arrived.
        for _ in 0..2 {
            let mark = format!("mark-{}", self.marks);
            self.marks += 1;
            create(&self.maps, &mark).await;
            let late = Instant::now() + PATIENCE;
            for side in [&self.ours, &self.theirs] {
                let heard = || {
                    let lines = lock(side);
                    let lines = lines.iter().filter(|line| line.name == mark);
                    lines
                        .map(|line| line.listener)
                        .collect::<BTreeSet<_>>()
                        .len()
                };
                while heard() < self.listeners {
                    assert!(
                        Instant::now() < late,
                        "{name}: {mark} is not heard: {:?}",
                        lock(side)
                    );
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        let [ours, theirs] = [&self.ours, &self.theirs].map(|side| {
            let mut lines = std::mem::take(&mut *lock(side));
            lines.retain(|line| !line.name.starts_with("mark-"));
            lines
        });
        self.phases.push(Phase {
            name,
            delivery,
            ours,
            theirs,
        });
    }

    /// From here on neither informer can list or watch, and `end` ends the running watches.
    async fn cut_off(&self, answer: Answer, end: impl FnOnce(&RequestMatcher) -> usize) {
        let watching = matching("watch");
        self.wait_for_watches(&watching).await;
        for verb in ["list", "watch"] {
            self.sandbox
                .faults()
                .answer(matching(verb), answer.clone(), usize::MAX);
        }
        assert_eq!(end(&watching), 2);
    }

    async fn wait_for_watches(&self, watching: &RequestMatcher) {
        let late = Instant::now() + PATIENCE;
        while self.sandbox.faults().running_watches(watching) < 2 {
            assert!(Instant::now() < late, "both should watch");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn create(&self, name: &str) {
        create(&self.maps, name).await;
    }

    async fn update(&self, name: &str, labels: &str) {
        self.patch(name, json!({"metadata": {"labels": {"watched": labels}}, "data": {"n": self.marks.to_string()}}))
            .await;
    }

    async fn patch(&self, name: &str, patch: serde_json::Value) {
        let params = PatchParams::default();
        self.maps
            .patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    async fn delete(&self, name: &str) {
        self.maps
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Makes all kinds of changes: update, deletion, recreation, creation, leaving and entering the selection.
    async fn change_all(&self, round: &str) {
        let [changed, gone, back, out] =
            ["changed", "gone", "back", "out"].map(|name| format!("{name}-{round}"));
        self.patch(&changed, json!({"data": {"n": "1"}})).await;
        self.delete(&gone).await;
        self.patch(&changed, json!({"data": {"n": "2"}})).await;
        self.delete(&back).await;
        self.create(&back).await;
        self.create(&format!("new-{round}")).await;
        self.create(&format!("brief-{round}")).await;
        self.delete(&format!("brief-{round}")).await;
        self.update(&out, "no").await;
        self.update(&format!("in-{round}"), "yes").await;
    }
}

fn matching(verb: &str) -> RequestMatcher {
    RequestMatcher::any()
        .verb(verb)
        .resource("configmaps")
        .namespace(NAMESPACE)
}

async fn create(maps: &Api<ConfigMap>, name: &str) {
    let watched = if name.starts_with("in-") { "no" } else { "yes" };
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            labels: Some([("watched".to_owned(), watched.to_owned())].into()),
            ..Default::default()
        },
        ..Default::default()
    };
    maps.create(&PostParams::default(), &map).await.unwrap();
}

const ROUNDS: &[&str] = &[
    "live",
    "broken",
    "closed",
    "slow",
    "expired",
    "compacted",
    "refused",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_go_and_our_informer_deliver_the_same_events() {
    let Some(program) = env::var(PROGRAM).ok().filter(|program| !program.is_empty()) else {
        let skipped = format!("skipped: client-go informer: {PROGRAM} is not set\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return;
    };
    let kinds = ["changed", "gone", "back", "out", "in"];
    let before: Vec<_> = ROUNDS
        .iter()
        .flat_map(|round| kinds.map(|kind| format!("{kind}-{round}")))
        .collect();
    let before: Vec<_> = before.iter().map(String::as_str).collect();
    let mut comparison = Comparison::begin(&program, &before).await;
    let sandbox = comparison.sandbox.clone();
    let faults = sandbox.faults();
    comparison.phase("the first list", Delivery::Listed).await;

    comparison.change_all("live").await;
    comparison.phase("a watch", Delivery::Watched).await;

    // No event is lost while the server has the history.
    comparison.wait_for_watches(&matching("watch")).await;
    faults.drop_watches(&matching("watch"));
    comparison.change_all("broken").await;
    comparison
        .phase("a watch that broke", Delivery::Broken)
        .await;
    comparison.wait_for_watches(&matching("watch")).await;
    faults.close_watches(&matching("watch"));
    comparison.change_all("closed").await;
    comparison
        .phase("a watch that ended", Delivery::Watched)
        .await;
    let slow = Answer::status(429, "TooManyRequests").retry_after(Duration::from_secs(1));
    comparison
        .cut_off(slow, |all| faults.close_watches(all))
        .await;
    comparison.change_all("slow").await;
    faults.clear();
    comparison
        .phase("a server that asks for time", Delivery::Watched)
        .await;

    // Both must list when the server does not have the history, or says so.
    let down = || Answer::status(503, "ServiceUnavailable");
    comparison
        .cut_off(down(), |all| faults.expire_watches(all))
        .await;
    comparison.change_all("expired").await;
    faults.clear();
    comparison
        .phase("a watch that expired", Delivery::Listed)
        .await;
    comparison
        .cut_off(down(), |all| faults.drop_watches(all))
        .await;
    comparison.change_all("compacted").await;
    faults.compact();
    faults.clear();
    comparison
        .phase("a history that is gone", Delivery::Listed)
        .await;
    let refused = Answer::status(500, "InternalError");
    comparison
        .cut_off(refused, |all| faults.expire_watches(all))
        .await;
    comparison.change_all("refused").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    faults.compact();
    faults.clear();
    comparison.phase("lists that fail", Delivery::Listed).await;

    comparison.listen_late().await;
    comparison.phase("a late listener", Delivery::Listed).await;
    comparison
        .patch("changed-live", json!({"data": {"n": "3"}}))
        .await;
    comparison.delete("changed-broken").await;
    comparison.phase("two listeners", Delivery::Watched).await;

    comparison.informers.shutdown().await;
    sandbox.shutdown().await;
    compare(&comparison.phases);
}

fn compare(phases: &[Phase]) {
    let mut wrong = String::new();
    let delivered = |lines: &[Line]| {
        lines
            .iter()
            .map(|line| format!("  {line:?}\n"))
            .collect::<String>()
    };
    for phase in phases {
        let (ours, theirs) = phase.without(None);
        assert!(!ours.is_empty(), "{}", phase.name);
        if ours != theirs {
            wrong += &format!(
                "{}:\n ours\n{} theirs\n{}",
                phase.name,
                delivered(&ours),
                delivered(&theirs)
            );
        }
    }
    for (number, (name, _, _)) in DIVERGENCES.iter().enumerate() {
        let needed = phases.iter().filter(|phase| {
            let (ours, theirs) = phase.without(Some(number));
            ours != theirs
        });
        let needed: Vec<_> = needed.map(|phase| phase.name).collect();
        println!("{name}: {needed:?}");
        if needed.is_empty() {
            wrong += &format!("`{name}` makes no difference: remove its row\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
