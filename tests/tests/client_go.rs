//! The same story, told by an informer of client-go and by ours: the events that handlers hear are the same but for
//! the [`DIVERGENCES`]. Both follow one sandbox over HTTPS at the same time, so that versions can be compared.
//!
//! `PILOTHOUSE_CLIENT_GO_INFORMER` names the program of `tests/kubectl/informer`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::Write,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use pilothouse::{
    cache::{Event, InformerScope, Informers, SharedInformer},
    client::{
        Api, Client, Config, DeleteParams, KubeconfigOptions, Patch, PatchParams, PostParams,
    },
    k8s::api::core::v1::{ConfigMap, Namespace},
    metrics::Metrics,
    resource::{Object, ObjectMeta},
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
/// Longer than client-go ever pauses.
const PATIENCE: Duration = Duration::from_secs(120);

/// A name, its reason, and what makes client-go's chapter ours.
type Divergence = (&'static str, &'static str, fn(&mut Chapter));

/// What ours does otherwise than client-go, on purpose: its name, the reason, and what makes the two equal. Each row
/// is needed: without it the story is told differently.
const DIVERGENCES: &[Divergence] = &[
    (
        "recreation",
        "an object that was deleted and created anew unseen is no update of itself: who keeps something per object \
         has to let go of it, and most forget to compare the UIDs",
        |chapter| {
            for line in &mut chapter.ours {
                if line.event == "recreated" {
                    line.event = "updated".into();
                    line.recreated = true;
                }
            }
        },
    ),
    (
        "deletions come last",
        "a list is worked on page by page as it comes, and what it does not name is known at its end",
        |chapter| {
            chapter
                .ours
                .sort_by_key(|line| (line.listener, !line.last_known))
        },
    ),
    (
        "unchanged objects",
        "client-go tells an object that a list names again to handlers that asked for no resync; it is no change",
        |chapter| {
            let unchanged = |line: &Line| !line.recreated && line.old == line.version;
            chapter
                .theirs
                .retain(|line| line.event != "updated" || !unchanged(line));
        },
    ),
    (
        "broken streams",
        "client-go takes a stream that was cut in its middle for one that it cannot decode, and lists; ours goes on \
         where it was, so that no state is left out",
        |chapter| {
            if chapter.course == Course::Broken {
                for side in [&mut chapter.ours, &mut chapter.theirs] {
                    *side = outcome(side);
                }
            }
        },
    ),
    (
        "order of names",
        "client-go tells a list in the order of a hash table, ours in that of the server",
        |chapter| {
            for side in [&mut chapter.ours, &mut chapter.theirs] {
                // What a list tells and what happens one by one stay apart.
                let together = |a: &Line, b: &Line| {
                    (a.listener, a.initial, a.last_known) == (b.listener, b.initial, b.last_known)
                };
                if chapter.course == Course::Listed {
                    side.chunk_by_mut(together)
                        .for_each(|run| run.sort_by(|a, b| a.name.cmp(&b.name)));
                }
            }
        },
    ),
];

/// What a handler heard.
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
            name: object.name().into(),
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

/// What is left of each object in the end.
fn outcome(lines: &[Line]) -> Vec<Line> {
    let mut outcome = BTreeMap::new();
    for line in lines {
        outcome.insert((line.listener, &line.name), line);
    }
    // What came and went is in no list.
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

fn version(object: &ConfigMap) -> String {
    object.resource_version().unwrap_or_default().to_owned()
}

/// How the two come to know what happened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Both are told each step.
    Told,
    /// Both have to list, and the states in between are lost.
    Listed,
    /// The stream broke in its middle, and the server remembers.
    Broken,
}

/// A part of the story, and how both tell it.
#[derive(Clone)]
struct Chapter {
    name: &'static str,
    course: Course,
    ours: Vec<Line>,
    theirs: Vec<Line>,
}

impl Chapter {
    /// How it is told when the divergence of that number is not allowed for.
    fn without(&self, row: Option<usize>) -> (Vec<Line>, Vec<Line>) {
        let mut chapter = self.clone();
        for side in [&mut chapter.ours, &mut chapter.theirs] {
            // Each handler hears for itself.
            side.sort_by_key(|line| line.listener);
        }
        for (number, (_, _, allow)) in DIVERGENCES.iter().enumerate() {
            if Some(number) != row {
                allow(&mut chapter);
            }
        }
        (chapter.ours, chapter.theirs)
    }
}

type Lines = Arc<Mutex<Vec<Line>>>;

fn lock(lines: &Lines) -> MutexGuard<'_, Vec<Line>> {
    lines.lock().unwrap()
}

/// One sandbox, and both informers of it.
struct Story {
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
    chapters: Vec<Chapter>,
}

impl Story {
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
        let mut story = Self {
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
            chapters: Vec::new(),
        };
        story.listen();
        story.informers.start(&CancellationToken::new());
        story
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

    /// Ends a chapter when both have told all of it.
    async fn chapter(&mut self, name: &'static str, course: Course) {
        // What is created when the first mark was heard is no part of a list that told it.
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
        self.chapters.push(Chapter {
            name,
            course,
            ours,
            theirs,
        });
    }

    /// Neither can list or watch from here on, and what was running ends as `end` says.
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

    /// What can happen to objects: changed, gone, gone and back, new, out of the selection and into it.
    async fn turmoil(&self, round: &str) {
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
async fn client_go_and_ours_tell_the_same_story() {
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
    let mut story = Story::begin(&program, &before).await;
    let sandbox = story.sandbox.clone();
    let faults = sandbox.faults();
    story.chapter("the first list", Course::Listed).await;

    story.turmoil("live").await;
    story.chapter("a watch", Course::Told).await;

    // Nothing is lost when the server remembers.
    story.wait_for_watches(&matching("watch")).await;
    faults.drop_watches(&matching("watch"));
    story.turmoil("broken").await;
    story.chapter("a watch that broke", Course::Broken).await;
    story.wait_for_watches(&matching("watch")).await;
    faults.close_watches(&matching("watch"));
    story.turmoil("closed").await;
    story.chapter("a watch that ended", Course::Told).await;
    let slow = Answer::status(429, "TooManyRequests").retry_after(Duration::from_secs(1));
    story.cut_off(slow, |all| faults.close_watches(all)).await;
    story.turmoil("slow").await;
    faults.clear();
    story
        .chapter("a server that asks for time", Course::Told)
        .await;

    // Both have to list when it does not, or says that it does not.
    let down = || Answer::status(503, "ServiceUnavailable");
    story
        .cut_off(down(), |all| faults.expire_watches(all))
        .await;
    story.turmoil("expired").await;
    faults.clear();
    story.chapter("a watch that expired", Course::Listed).await;
    story.cut_off(down(), |all| faults.drop_watches(all)).await;
    story.turmoil("compacted").await;
    faults.compact();
    faults.clear();
    story
        .chapter("a history that is gone", Course::Listed)
        .await;
    let refused = Answer::status(500, "InternalError");
    story
        .cut_off(refused, |all| faults.expire_watches(all))
        .await;
    story.turmoil("refused").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    faults.compact();
    faults.clear();
    story.chapter("lists that fail", Course::Listed).await;

    story.listen_late().await;
    story.chapter("a late listener", Course::Listed).await;
    story
        .patch("changed-live", json!({"data": {"n": "3"}}))
        .await;
    story.delete("changed-broken").await;
    story.chapter("two listeners", Course::Told).await;

    story.informers.shutdown().await;
    sandbox.shutdown().await;
    compare(&story.chapters);
}

fn compare(chapters: &[Chapter]) {
    let mut wrong = String::new();
    let told = |lines: &[Line]| {
        lines
            .iter()
            .map(|line| format!("  {line:?}\n"))
            .collect::<String>()
    };
    for chapter in chapters {
        let (ours, theirs) = chapter.without(None);
        assert!(!ours.is_empty(), "{}", chapter.name);
        if ours != theirs {
            wrong += &format!(
                "{}:\n ours\n{} theirs\n{}",
                chapter.name,
                told(&ours),
                told(&theirs)
            );
        }
    }
    for (number, (name, _, _)) in DIVERGENCES.iter().enumerate() {
        let needed = chapters.iter().filter(|chapter| {
            let (ours, theirs) = chapter.without(Some(number));
            ours != theirs
        });
        let needed: Vec<_> = needed.map(|chapter| chapter.name).collect();
        println!("{name}: {needed:?}");
        if needed.is_empty() {
            wrong += &format!("`{name}` makes no difference: remove its row\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
