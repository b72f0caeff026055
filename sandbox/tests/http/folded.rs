//! Random writes, watches, compactions and snapshots: what a client knows is what the server has.

use std::collections::BTreeMap;
use std::time::Duration;

use pilothouse_sandbox::{RequestMatcher, Snapshot};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Client, MAPS, MERGE, Watch, version};

/// The collections; their objects need nothing but a name.
const KINDS: [&str; 3] = [
    MAPS,
    "/api/v1/namespaces/default/secrets",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
];

/// What a watcher selects.
const SELECTORS: [&str; 4] = [
    "",
    "labelSelector=app%3Da",
    "labelSelector=app%21%3Da",
    "fieldSelector=metadata.name%3Dn1",
];

#[derive(Clone, Debug)]
enum Step {
    /// Creates an object or replaces its label.
    Write {
        kind: usize,
        name: u8,
        app: char,
    },
    Delete {
        kind: usize,
        name: u8,
    },
    /// Lists and watches.
    Watch {
        kind: usize,
        selector: usize,
    },
    /// A watcher opens its watch again, from the last version that it knows.
    Reopen {
        watcher: usize,
    },
    Compact,
    /// Ends every watch as if its version were too old.
    Expire,
    Snapshot,
    Restore,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = 0..KINDS.len();
    let name = 0_u8..4;
    let write = (kind.clone(), name.clone(), "[abc]");
    let write = write.prop_map(|(kind, name, app)| Step::Write {
        kind,
        name,
        app: app.chars().next().unwrap_or('a'),
    });
    prop_oneof![
        8 => write,
        4 => (kind.clone(), name).prop_map(|(kind, name)| Step::Delete { kind, name }),
        3 => (kind, 0..SELECTORS.len()).prop_map(|(kind, selector)| Step::Watch { kind, selector }),
        2 => (0_usize..4).prop_map(|watcher| Step::Reopen { watcher }),
        1 => Just(Step::Compact),
        1 => Just(Step::Expire),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Restore),
    ]
}

type Objects = BTreeMap<String, Value>;

/// The objects of a list by their names, and its version.
async fn list(client: &Client, path: &str) -> (Objects, u64) {
    let list = client.get(path).await.object();
    let items = list["items"].as_array().unwrap().iter().cloned();
    (items.map(named).collect(), number(&list))
}

/// The name of an object, and the object as in a list.
fn named(mut object: Value) -> (String, Value) {
    let map = object.as_object_mut().unwrap();
    map.remove("apiVersion");
    map.remove("kind");
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    (name, object)
}

fn number(object: &Value) -> u64 {
    version(object).parse().unwrap()
}

/// A client that folds the events of a watch.
struct Watcher {
    kind: usize,
    selector: usize,
    watch: Watch,
    state: Objects,
    /// The version of the list or of the last event.
    at: u64,
}

impl Watcher {
    async fn new(client: &Client, kind: usize, selector: usize) -> Self {
        let path = path(kind, selector);
        let (state, at) = list(client, &path).await;
        Self {
            kind,
            selector,
            watch: open(client, &path, at).await,
            state,
            at,
        }
    }

    /// Reads every event that has happened.
    async fn read(&mut self, client: &Client) {
        // The clock of the test moves only when nothing else can happen.
        const NOTHING: Duration = Duration::from_millis(1);
        while let Ok(event) = tokio::time::timeout(NOTHING, self.watch.next()).await {
            let Some(mut event) = event.unwrap() else {
                return self.list(client).await;
            };
            let (kind, object) = (event["type"].take(), event["object"].take());
            match kind.as_str().unwrap() {
                "ERROR" => {
                    assert_eq!(object["code"], 410);
                    return self.list(client).await;
                }
                kind => self.fold(kind, object),
            }
        }
    }

    async fn list(&mut self, client: &Client) {
        *self = Self::new(client, self.kind, self.selector).await;
    }

    fn fold(&mut self, kind: &str, object: Value) {
        let at = number(&object);
        assert!(at > self.at, "an event of version {at} after {}", self.at);
        self.at = at;
        let (name, object) = named(object);
        let before = match kind {
            "DELETED" => self.state.remove(&name),
            _ => self.state.insert(name.clone(), object),
        };
        assert_eq!(before.is_none(), kind == "ADDED", "{kind} {name}");
    }

    async fn reopen(&mut self, client: &Client) {
        self.watch = open(client, &path(self.kind, self.selector), self.at).await;
        if self.watch.code == 410 {
            self.list(client).await;
        }
    }
}

fn path(kind: usize, selector: usize) -> String {
    format!("{}?{}", KINDS[kind], SELECTORS[selector])
}

async fn open(client: &Client, path: &str, at: u64) -> Watch {
    let path = format!("{path}&watch=1&resourceVersion={at}");
    client.watch(&path).await
}

async fn everything(client: &Client) -> Vec<Objects> {
    let mut all = Vec::new();
    for kind in 0..KINDS.len() {
        all.push(list(client, &path(kind, 0)).await.0);
    }
    all
}

async fn run(steps: Vec<Step>) {
    let client = Client::new().await;
    let mut watchers: Vec<Watcher> = Vec::new();
    let mut kept: Option<(Snapshot, Vec<Objects>)> = None;
    let mut highest = 0;
    for step in steps {
        match step {
            Step::Write { kind, name, app } => {
                let name = format!("n{name}");
                let object =
                    json!({"metadata": {"name": name, "labels": {"app": app.to_string()}}});
                let one = format!("{}/{name}", KINDS[kind]);
                let answer = match client.get(&one).await.code {
                    200 => client.patch(MERGE, &one, &object).await,
                    _ => client.post(KINDS[kind], &object).await,
                };
                let written = answer.object();
                let is_new = written["metadata"]["labels"]["app"] == app.to_string();
                assert!(is_new, "{written}");
                highest = highest.max(number(&written));
            }
            Step::Delete { kind, name } => {
                client.delete(&format!("{}/n{name}", KINDS[kind])).await;
            }
            Step::Watch { kind, selector } => {
                watchers.push(Watcher::new(&client, kind, selector).await);
            }
            Step::Reopen { watcher } => {
                if let Some(watcher) = watchers.get_mut(watcher) {
                    watcher.reopen(&client).await;
                }
            }
            Step::Compact => client.sandbox.faults().compact(),
            Step::Expire => {
                let all = RequestMatcher::any();
                client.sandbox.faults().expire_watches(&all);
            }
            Step::Snapshot => {
                let objects = everything(&client).await;
                kept = Some((client.sandbox.snapshot(), objects));
            }
            Step::Restore => {
                let Some((snapshot, objects)) = &kept else {
                    continue;
                };
                let before = list(&client, MAPS).await.1;
                client.sandbox.restore(snapshot);
                assert_eq!(&everything(&client).await, objects);
                let after = list(&client, MAPS).await.1;
                assert!(after >= before.max(highest), "{before} {highest} {after}");
            }
        }
        for watcher in &mut watchers {
            watcher.read(&client).await;
            let (objects, _) = list(&client, &path(watcher.kind, watcher.selector)).await;
            assert_eq!(
                watcher.state,
                objects,
                "{}",
                path(watcher.kind, watcher.selector)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_watcher_knows_what_a_list_shows_and_a_restored_snapshot_is_complete(
        steps in prop::collection::vec(step(), 1..30)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(steps));
    }
}
