//! The operator's debug page: its data about each key, and how a browser shows it. `waiting.rs` has the pages of objects that wait.

mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsStr,
    path::Path,
    process::Command,
    sync::Arc,
    time::Duration,
};

use crate::probe::{Widget, widget};
use pilothouse::{
    controller::annotations::PAUSED,
    k8s::api::core::v1::ConfigMap,
    operator::{Operator, Running},
    prelude::*,
    resource::{Object, ObjectKey},
    server::Address,
    testing::{Cluster, RequestMatcher},
};
use pilothouse_tests::chromium::{Browser, chromium};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A type into which a ConfigMap with text cannot be decoded.
#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = ConfigMap)]
struct Counts {
    metadata: ObjectMeta,
    data: Option<BTreeMap<String, u32>>,
}

/// Does what the name of the widget says, such as failing.
struct Acts;

impl Reconciler for Acts {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller
            .owns::<ConfigMap>()
            .reads::<Counts>()
            .concurrency(2)
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result {
        match widget.name() {
            "fails" => Err(Failure::new("no <b>such</b> backend")),
            "gives-up" => Err(Failure::new("never").terminal()),
            "returns" => Ok(Action::requeue_after(Duration::from_secs(90))),
            "runs" => std::future::pending().await,
            "writes" => {
                cx.apply(words("of-writes")).await?;
                Ok(Action::requeue_after(Duration::from_millis(1)))
            }
            "mixed" => {
                cx.apply(words("of-mixed")).await?;
                match widget.spec.size {
                    3 => Err(Failure::new("three is too many").terminal()),
                    _ => Ok(Action::wait()),
                }
            }
            _ => Ok(Action::wait()),
        }
    }
}

fn words(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.data = Some([("secret".into(), "xyz".into())].into());
    map
}

/// Starts an operator with a key in each state, and an object that does not decode.
async fn busy(cluster: &Cluster, operator: Operator) -> Running {
    cluster.create(&words("words")).await.unwrap();
    let running = cluster.run(operator.controller(Acts)).await.unwrap();
    let watches = RequestMatcher::any().verb("watch").resource("configmaps");
    cluster.faults().hold_watches(watches);
    for name in ["fails", "gives-up", "returns", "runs", "writes", "rests"] {
        cluster.create(&widget(name, 1)).await.unwrap();
    }
    let mut paused = widget("paused", 1);
    paused.metadata.annotations = Some([(PAUSED.to_owned(), String::new())].into());
    cluster.create(&paused).await.unwrap();
    running
}

fn json(report: &impl Serialize) -> Value {
    serde_json::to_value(report).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_debug_page_shows_the_state_of_each_key() {
    let cluster = Cluster::start().unwrap();
    let running = busy(&cluster, Operator::new("acts")).await;
    cluster.settle().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let report = json(&running.debug_report());

    assert_eq!(report["operator"], "acts");
    assert_eq!(report["notReady"], json!([]));
    let controller = &report["controllers"][0];
    let shown = [
        "name",
        "kind",
        "status",
        "workers",
        "running",
        "waiting",
        "paused",
        "remembered",
    ];
    let shown = shown.map(|name| controller[name].clone());
    let failing = "working; objects that fail: 2 of 6; most of them for 3s: reconcile Widget default/gives-up failed (not retried): never";
    let expected = json!(["widget", "Widget", failing, 2, 1, 0, 1, 6]);
    assert_eq!(json!(shown), expected);

    let keys = controller["keys"].as_array().unwrap();
    let states: Vec<_> = keys
        .iter()
        .map(|key| (key["key"].as_str().unwrap(), key["state"].as_str().unwrap()))
        .collect();
    let expected = [
        ("default/runs", "running"),
        ("default/writes", "awaitingOwnWrites"),
        ("default/fails", "delayed"),
        ("default/returns", "delayed"),
        ("default/gives-up", "failed"),
    ];
    assert_eq!(states, expected);
    let [runs, writes, fails, returns, gives_up] = keys.as_slice() else {
        unreachable!()
    };
    assert!(runs["forSeconds"].as_f64().unwrap() >= 2.0, "{runs}");
    let waits_for = writes["waitsFor"][0].as_str().unwrap();
    assert!(
        waits_for.starts_with("ConfigMap default/of-writes at version "),
        "{waits_for}"
    );
    assert!(writes["forSeconds"].as_f64().unwrap() >= 2.0, "{writes}");
    assert!(fails["failures"].as_u64().unwrap() > 5, "{fails}");
    assert_eq!(fails["lastFailure"]["text"], "no <b>such</b> backend");
    assert!(fails["dueInSeconds"].as_f64().unwrap() < 3.0, "{fails}");
    let due = returns["dueInSeconds"].as_f64().unwrap();
    assert!((85.0..=88.0).contains(&due), "{due}");
    assert_eq!(gives_up["lastFailure"]["text"], "never");
    assert!(gives_up["lastFailure"]["secondsAgo"].as_f64().unwrap() >= 2.0);

    let informers = report["informers"].as_array().unwrap();
    let kinds: Vec<_> = informers
        .iter()
        .map(|one| (&one["resource"], &one["mode"], &one["objects"]))
        .collect();
    let expected = json!([
        // One of the test, and one that the cluster gives to each of its four namespaces.
        ["configmaps", "watching", 5],
        ["configmaps", "watching", 5],
        ["widgets.test.pilothouse.dev", "watching", 7],
    ]);
    assert_eq!(json!(kinds), expected);

    let undecodable = report["undecodable"].as_array().unwrap();
    // The ConfigMaps of the cluster itself are of another form, too.
    assert_eq!(undecodable.len(), 5, "{undecodable:?}");
    let words = undecodable.iter().find(|one| one["key"] == "default/words");
    let words = words.expect("it is shown");
    assert_eq!(words["resource"], "configmaps");
    let reason = words["reason"].as_str().unwrap();
    assert!(reason.contains("data.secret"), "{reason}");
    assert!(!report.to_string().contains("xyz"), "an object's content");
}

#[tokio::test(start_paused = true)]
async fn the_debug_page_drops_failures_after_a_deletion_or_a_success() {
    let cluster = Cluster::start().unwrap();
    let running = busy(&cluster, Operator::new("acts")).await;
    cluster.settle().await;
    cluster.delete::<Widget>("gives-up").await.unwrap();
    cluster.settle().await;
    let report = json(&running.debug_report()).to_string();
    assert!(!report.contains("gives-up"), "{report}");
}

/// A browser loads the page, waits for the requests of its script, and returns the rendered page.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_renders_the_debug_page() {
    let Some(browser) = chromium() else {
        return;
    };
    let mut tries = 0;
    let (cluster, running, url, (page, errors, picture)) = loop {
        let cluster = Cluster::start().unwrap();
        let operator = Operator::new("acts").debug_page();
        let operator = operator.metrics_address(Address::loopback(0));
        let running = busy(&cluster, operator).await;
        let seen = || serde_json::to_string(&running.debug_report()).unwrap();
        while !(seen().contains("awaitingOwnWrites") && seen().contains("never")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let url = format!("http://{}/debug", running.http_address().unwrap());
        let shown = rendered(&browser, &url, "debug.png");
        tries += 1;
        // A key waits for its writes for 10 s, and on a busy machine a browser may need longer to show the page.
        if tries == 5 || seen().contains("awaitingOwnWrites") {
            break (cluster, running, url, shown);
        }
    };
    for text in [
        "<title>acts</title>",
        ">ready, up ",
        ">1 of 2<",
        ">waits for its own writes<",
        ">ConfigMap default/of-writes at version ",
        ">failed, not retried<",
        // The page shows it as text and not as HTML.
        "no &lt;b&gt;such&lt;/b&gt; backend (",
        ">default/words<",
        ">widgets.test.pilothouse.dev<",
    ] {
        assert!(page.contains(text), "no {text} in:\n{page}\n{errors}");
    }
    // A test can only check that the picture exists and is not blank.
    assert!(picture > 20_000, "{picture}");

    cluster.faults().release_watches();
    let written = || {
        let key = ObjectKey::new(Some("default"), "fails");
        let report = running.object_report("widget", &key).unwrap();
        report.reconciles.len()
    };
    while written() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let url_of = |object: &str| format!("{url}#widget/default%2F{object}");
    for (object, texts) in [
        (
            "fails",
            &[
                ">Widget default/fails<",
                "because created: created",
                "because retry",
                "no &lt;b&gt;such&lt;/b&gt; backend",
            ][..],
        ),
        (
            "writes",
            &[
                ">Widget default/writes<",
                ">ConfigMap default/of-writes<",
                ">ready<",
                "asked for the next reconcile after 1 ms",
            ],
        ),
    ] {
        let (page, errors, picture) = rendered(&browser, &url_of(object), &format!("{object}.png"));
        for text in texts {
            assert!(page.contains(text), "no {text} in:\n{page}\n{errors}");
        }
        assert!(picture > 20_000, "{picture}");
    }
}

/// What the search of the debug page answers.
async fn found(running: &Running, contains: &str) -> Value {
    let address = running.http_address().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /debug/search.json?contains={contains} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    serde_json::from_str(body).unwrap()
}

#[tokio::test]
async fn the_search_finds_objects_by_a_part_of_their_key() {
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("acts").debug_page();
    let operator = operator.metrics_address(Address::loopback(0));
    let running = busy(&cluster, operator).await;
    for number in 0..105 {
        let many = widget(&format!("many-{number:03}"), 1);
        cluster.create(&many).await.unwrap();
    }
    let until = async |contains: &str, expected: &Value| {
        let mut seen = Value::Null;
        for _ in 0..1000 {
            seen = found(&running, contains).await;
            if seen == *expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{contains}: {seen:#}");
    };
    let of = |name: String| json!({"controller": "widget", "key": format!("default/{name}")});

    let returns = json!({"objects": [of("returns".into())], "more": 0});
    until("ret", &returns).await;
    // As a browser writes `t/ret`: the namespace is a part of the key.
    until("t%2Fret", &returns).await;
    let most: Vec<_> = (0..100)
        .map(|number| of(format!("many-{number:03}")))
        .collect();
    until("many", &json!({"objects": most, "more": 5})).await;
    until("nowhere", &json!({"objects": [], "more": 0})).await;
}

/// The text of an element after `condition` has become true.
async fn text_after(browser: &mut Browser, element: &str, condition: &str) -> String {
    let script = format!(
        "(async () => {{
            const text = () => document.querySelector({element:?}).textContent;
            for (let tries = 0; tries < 600 && !({condition}); tries++) await new Promise(done => setTimeout(done, 50));
            return ({condition}) ? text() : 'not so: ' + {condition:?} + ' in ' + text();
        }})()"
    );
    browser.evaluate(&script).await
}

/// The classes of the reconciles in the timeline, after a script that clicks something.
async fn timeline(browser: &mut Browser, script: &str) -> BTreeSet<String> {
    let classes = "[...document.querySelectorAll('#timeline > li')].map(one => one.className)";
    browser.evaluate(&format!("{script}; {classes}")).await
}

/// A reader types into the search and clicks on the filters of the timeline.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_searches_an_object_and_filters_its_timeline() {
    let Some(browser) = chromium() else {
        return;
    };
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("acts").debug_page();
    let operator = operator.metrics_address(Address::loopback(0));
    let running = busy(&cluster, operator).await;
    cluster.faults().release_watches();
    // One reconcile that writes, one that has nothing to write, and one that fails. Each change waits for the
    // reconcile before it, because two changes at once are one reconcile.
    cluster.create(&widget("mixed", 1)).await.unwrap();
    let key = ObjectKey::new(Some("default"), "mixed");
    let mut seen = 0;
    for (size, ends) in [
        (1, "succeeded"),
        (2, "succeeded"),
        (3, "failed, not retried"),
    ] {
        if size > 1 {
            let patch = json!({"spec": {"size": size}});
            cluster.patch::<Widget>("mixed", patch).await.unwrap();
        }
        loop {
            let report = running.object_report("widget", &key).unwrap();
            let outcomes = json(&report.reconciles);
            let outcomes = outcomes.as_array().unwrap();
            if outcomes.len() > seen && outcomes[0]["outcome"] == ends {
                seen = outcomes.len();
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    let url = format!("http://{}/debug", running.http_address().unwrap());
    let mut browser = Browser::start(&browser).await;
    browser.open(&url).await;
    let hidden: bool = browser
        .evaluate("document.querySelector('#found').hidden")
        .await;
    assert!(hidden, "nothing was searched for");
    let types = "const filter = document.querySelector('#filter'); filter.value = 'rest'; filter.dispatchEvent(new Event('input'))";
    let _: Value = browser.evaluate(&format!("{{ {types} }}; null")).await;
    let shown = "!document.querySelector('#found').hidden && text().includes('/')";
    let objects = text_after(&mut browser, "#objects", shown).await;
    assert!(objects.ends_with("widgetdefault/rests"), "{objects}");
    let nothing = "text() === 'No key that contains this has work.'";
    text_after(&mut browser, "#keys", nothing).await;

    // The object that was found is opened by a click.
    let click = "document.querySelector('#objects a').click(); location.hash";
    let hash: String = browser.evaluate(click).await;
    assert_eq!(hash, "#widget/default%2Frests");

    browser.open(&format!("{url}#widget/default%2Fmixed")).await;
    let failed = "text().includes('three is too many')";
    let text = text_after(&mut browser, "#timeline", failed).await;
    assert!(text.contains("apply ConfigMap default/of-mixed"), "{text}");
    // Nothing is loaded again meanwhile.
    let still = "document.querySelector('#follow').click()";
    let set = |classes: &[&str]| classes.iter().map(|one| (*one).to_owned()).collect();
    let all: BTreeSet<String> = set(&["", "bad", "dim"]);
    assert_eq!(timeline(&mut browser, still).await, all);
    let failures = "document.querySelector('#only-failed').click()";
    assert_eq!(timeline(&mut browser, failures).await, set(&["bad"]));
    // The second click shows all again.
    assert_eq!(timeline(&mut browser, failures).await, all);
    let writes = "document.querySelector('#with-quiet').click()";
    assert_eq!(timeline(&mut browser, writes).await, set(&["", "bad"]));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// What a browser makes of a page: the rendered page, what the browser says, and the size of a picture of it.
fn rendered(browser: &OsStr, url: &str, name: &str) -> (String, String, usize) {
    let home = tempfile::tempdir().unwrap();
    let picture = home.path().join("page.png");
    let said = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .args([
            "--window-size=1200,1000",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(url)
        .output()
        .unwrap();
    let picture = std::fs::read(picture).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    if let Some(folder) = env::var_os("PILOTHOUSE_PICTURES") {
        std::fs::write(Path::new(&folder).join(name), &picture).unwrap();
    }
    (
        String::from_utf8(said.stdout).unwrap(),
        String::from_utf8_lossy(&said.stderr).into_owned(),
        picture.len(),
    )
}

/// Writes a ConfigMap with the size of its widget, and fails once.
struct Grows;

impl Reconciler for Grows {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<ConfigMap>()
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result {
        let mut map = words("grown");
        map.data = Some([("size".into(), format!("secret {}", widget.spec.size))].into());
        cx.apply(map).await?;
        if widget.spec.size == 3 {
            return Err(Failure::new("three is too many").terminal());
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeline_of_an_object_shows_causes_writes_and_failures_and_never_contents() {
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("grows").debug_page();
    let operator = operator.metrics_address(Address::loopback(0));
    let running = cluster.run(operator.controller(Grows)).await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    cluster.settle().await;
    let larger = json!({"spec": {"size": 3}});
    cluster.patch::<Widget>("a", larger).await.unwrap();
    cluster.settle().await;
    let by_hand = json!({"data": {"size": "by hand"}});
    cluster.patch::<ConfigMap>("grown", by_hand).await.unwrap();
    cluster.settle().await;

    let key = ObjectKey::new(Some("default"), "a");
    let report = running.object_report("widget", &key).unwrap();
    let report = serde_json::to_value(report).unwrap();
    assert!(!report.to_string().contains("secret"), "{report:#}");
    assert_eq!(report["kind"], "Widget");
    assert_eq!(report["exists"], true);
    assert_eq!(report["now"]["state"], "failed");
    let child = &report["children"][0];
    assert_eq!(
        (&child["object"], &child["ready"]),
        (&json!("ConfigMap default/grown"), &json!(true))
    );
    let reconciles = report["reconciles"].as_array().unwrap();
    let shown: Vec<_> = reconciles
        .iter()
        .rev()
        .map(|one| {
            let causes = one["causes"].as_array().unwrap().iter();
            let causes = causes.map(|one| json!([one["cause"], one["what"]]));
            let writes = one["writes"].as_array().unwrap().iter();
            let writes = writes.map(|one| json!([one["verb"], one["object"], one["changed"]]));
            json!([
                one["outcome"],
                one["text"],
                causes.collect::<Vec<_>>(),
                writes.collect::<Vec<_>>()
            ])
        })
        .collect();
    let grown = "ConfigMap default/grown";
    let too_many = "three is too many";
    let expected = json!([
        [
            "succeeded",
            null,
            [["created", "created"]],
            [["apply", grown, null]]
        ],
        [
            "failed, not retried",
            too_many,
            [["updated", "updated: spec.size"]],
            [["apply", grown, ["data.size"]]]
        ],
        [
            "failed, not retried",
            too_many,
            [["owned", "ConfigMap default/grown updated: data.size"]],
            []
        ],
        [
            "failed, not retried",
            too_many,
            [["owned", "ConfigMap default/grown updated: data.size"]],
            [["apply", grown, ["data.size"]]]
        ],
        [
            "failed, not retried",
            too_many,
            [["owned", "ConfigMap default/grown updated: data.size"]],
            []
        ],
    ]);
    assert_eq!(json!(shown), expected, "{report:#}");

    cluster.delete::<Widget>("a").await.unwrap();
    cluster.settle().await;
    let report = running.object_report("widget", &key).unwrap();
    assert!(!report.exists);
    assert!(
        !report.reconciles.is_empty(),
        "it tells what happened before"
    );
    assert!(running.object_report("other", &key).is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recorded_without_the_debug_page() {
    let cluster = Cluster::start().unwrap();
    let running = cluster
        .run(Operator::new("grows").controller(Grows))
        .await
        .unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    cluster.settle().await;
    let key = ObjectKey::new(Some("default"), "a");
    let report = running.object_report("widget", &key).unwrap();
    assert!(report.reconciles.is_empty() && report.causes.is_empty());
}
