//! Bad input while an operator runs. For each kind of bad input the operator logs one line that says what is wrong,
//! where, and what to do. No object is lost, and the rest of the operator continues.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::probe::{Probe, Seen, Widget, widget};
use parking_lot::Mutex;
use pilothouse::{
    client::{Api, Client, Config, PostParams},
    crd::{CustomResource, CustomResourceDefinition, install},
    election::ElectionSettings,
    k8s::api::core::v1::ConfigMap,
    operator::{Operator, Running},
    prelude::*,
    resource::{ApiResource, DynamicObject},
    testing::{Answer, Cluster, RequestMatcher, Sandbox},
};
use serde_json::{Value, json};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

/// The lines that the framework logs at level WARN and above in this thread.
#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    /// Their fields `error`.
    errors: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.lines.lock().push(format!("{value:?}")),
            "error" => self.errors.lock().push(format!("{value:?}")),
            _ => {}
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("pilothouse") && *metadata.level() <= Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Returns a server that accepts the token `t0ken`.
fn empty() -> Cluster {
    let sandbox = Sandbox::builder().seed(1);
    Cluster::with(sandbox.token("operator", "t0ken", [""; 0])).unwrap()
}

/// Returns the same server with the kind installed and one widget.
async fn cluster() -> Cluster {
    let cluster = empty();
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    cluster
}

/// Starts an operator with a token. Its connections are refused while `refused` is set.
async fn started(
    cluster: &Cluster,
    reconciler: impl Reconciler<Resource: Resource>,
    refused: &Arc<AtomicBool>,
) -> Running {
    let (sandbox, refused) = (cluster.sandbox().clone(), refused.clone());
    let connector = move || match refused.load(Ordering::SeqCst) {
        true => Err(io::ErrorKind::ConnectionRefused.into()),
        false => Ok(sandbox.connect()),
    };
    let config = Config::new("http://sandbox".parse().unwrap()).with_token("t0ken");
    let client = Client::builder(config).connector(Arc::new(connector));
    let operator = Operator::new("widgets").controller(reconciler);
    operator.start(client.build().unwrap()).await.unwrap()
}

async fn running(cluster: &Cluster, probe: Probe) -> (Running, Seen) {
    let seen = probe.seen();
    let running = started(cluster, probe, &Arc::default()).await;
    (running, seen)
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_logged_once_and_retried() {
    let (log, _guard) = Log::start();
    let cluster = cluster().await;
    let probe = Probe::idle();
    let seen = probe.seen();
    let refused = Arc::new(AtomicBool::new(true));
    let running = started(&cluster, probe, &refused).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(
        log.lines(),
        [
            "cannot list widgets.test.pilothouse.dev in all namespaces: cannot connect to http://sandbox: connection refused: check that the API server runs and that the cluster's `server` is right"
        ]
    );
    refused.store(false, Ordering::SeqCst);
    seen.until_calls("a", 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_is_logged_once_and_a_renewed_token_works() {
    let (log, _guard) = Log::start();
    let cluster = cluster().await;
    let expired = Answer::status(401, "Unauthorized").message("Unauthorized");
    cluster
        .faults()
        .answer(RequestMatcher::any(), expired, 1_000);
    let (running, seen) = running(&cluster, Probe::idle()).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(
        log.lines(),
        [
            "cannot list widgets.test.pilothouse.dev in all namespaces: Unauthorized: the token (given by the program) is expired or not one of this server's: renew it"
        ]
    );
    cluster.faults().clear();
    seen.until_calls("a", 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_lease_is_logged_once_with_the_missing_permission() {
    let (log, _guard) = Log::start();
    let cluster = cluster().await;
    let leases = RequestMatcher::any().resource("leases");
    let forbidden = Answer::status(403, "Forbidden");
    cluster.faults().answer(leases, forbidden, usize::MAX);
    let probe = Probe::idle();
    let seen = probe.seen();
    let operator = Operator::new("widgets")
        .controller(probe)
        .election(ElectionSettings::new("widgets"));
    let running = cluster.run(operator).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(
        log.lines(),
        ["cannot take part in the leader election: trying again"]
    );
    assert_eq!(
        *log.errors.lock(),
        [
            r#"get Lease default/widgets: injected fault: Forbidden: bind this identity to a Role in default with apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"]"#
        ]
    );
    cluster.faults().clear();
    seen.until_calls("a", 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_election_is_refused_before_any_request() {
    let cluster = cluster().await;
    cluster.forget_requests();
    let named = |name: &str| ElectionSettings::new(name);
    let seconds = Duration::from_secs;
    let table = [
        (
            named("Widgets"),
            "the name of the Lease (`Widgets`) has to be a DNS name: at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends and around each `.`",
        ),
        (
            named("widgets").namespace("a/b"),
            "the namespace of the Lease (`a/b`) has to be a DNS label: at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends",
        ),
        (
            named("widgets").times(seconds(10), seconds(15), seconds(2)),
            "the lease duration (10s) must be longer than the renew deadline (15s): otherwise two processes could lead at once",
        ),
    ];
    for (settings, expected) in table {
        let operator = Operator::new("widgets")
            .controller(Probe::idle())
            .election(settings);
        let refused = operator.start(cluster.client().clone()).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("leader election: {expected}"));
    }
    assert_eq!(cluster.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_missing_definition_is_logged_with_the_command_that_installs_it() {
    let (log, _guard) = Log::start();
    let cluster = empty();
    let (running, seen) = running(&cluster, Probe::idle()).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let lines = log.lines();
    // The advice of the client is not added to that of the cache.
    let installs = lines[0].matches("install").count();
    assert!(lines[0].starts_with("cannot list widgets.test.pilothouse.dev"));
    assert_eq!(installs, 1, "{lines:?}");
    assert_eq!(
        lines[1..],
        ["widgets.test.pilothouse.dev is not served: run `widgets crd | kubectl apply -f -`"],
        "{lines:?}"
    );
    cluster.install::<Widget>().await.unwrap();
    cluster.create(&widget("a", 1)).await.unwrap();
    seen.until_calls("a", 1).await;
    running.stop().await;
}

/// Returns the definition of widgets after `change`.
fn definition(change: impl FnOnce(&mut Value)) -> CustomResourceDefinition {
    let mut definition = serde_json::to_value(Widget::crd().unwrap()).unwrap();
    change(&mut definition["spec"]);
    serde_json::from_value(definition).unwrap()
}

/// A difference in another program's definition, and the text that reports it.
type Difference = (fn(&mut Value), &'static str);

#[tokio::test(start_paused = true)]
async fn a_mismatching_definition_is_reported_and_not_changed() {
    let table: [Difference; 3] = [
        (
            |spec| spec["scope"] = "Cluster".into(),
            "its scope is Cluster, not Namespaced, and a scope cannot be changed: delete the definition, which deletes all its objects, or choose another kind",
        ),
        (
            |spec| spec["names"]["kind"] = "Gadget".into(),
            "it defines the kind Gadget, not Widget: choose another plural or another group",
        ),
        (
            |spec| spec["versions"][0]["name"] = "v2".into(),
            "it has v2, which this program does not define: run the program that installed it, or remove the version from it first",
        ),
    ];
    for (change, difference) in table {
        let cluster = empty();
        let other = definition(change);
        install(cluster.client(), &[other], "other").await.unwrap();
        let definitions = Api::<CustomResourceDefinition>::all(cluster.client());
        let before = definitions
            .get("widgets.test.pilothouse.dev")
            .await
            .unwrap();
        let error = cluster.install::<Widget>().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "CustomResourceDefinition widgets.test.pilothouse.dev on the server does not match this program: {difference}"
            )
        );
        let after = definitions
            .get("widgets.test.pilothouse.dev")
            .await
            .unwrap();
        assert_eq!(
            before.metadata.resource_version,
            after.metadata.resource_version
        );
    }
}

/// Returns a server with the definition of another program, where sizes may be strings.
async fn with_strings() -> Cluster {
    let cluster = empty();
    let other = definition(|spec| {
        let schema = &mut spec["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"]["size"] =
            json!({"x-kubernetes-int-or-string": true});
    });
    install(cluster.client(), &[other], "other").await.unwrap();
    cluster
}

/// Creates a widget that does not decode.
async fn create_bad(cluster: &Cluster, metadata: Value) -> DynamicObject {
    let widgets = Api::<DynamicObject>::of(
        cluster.client(),
        ApiResource::of::<Widget>(),
        Some("default"),
    );
    let bad: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "test.pilothouse.dev/v1", "kind": "Widget",
        "metadata": metadata, "spec": {"size": "hunter2"},
    }))
    .unwrap();
    widgets.create(&PostParams::default(), &bad).await.unwrap()
}

/// Reads the widget `child` when it reconciles the ConfigMap `owner`.
#[derive(Clone)]
struct ReadsChild {
    owns: bool,
    /// Whether each call could read the widget.
    calls: Arc<Mutex<Vec<bool>>>,
}

impl Reconciler for ReadsChild {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        match self.owns {
            true => controller.owns::<Widget>(),
            false => controller.watches::<Widget>(|_| Vec::new()),
        }
    }

    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<ConfigMap>) -> Result {
        if map.name() == "owner" {
            let child = cx.get::<Widget>("child");
            self.calls.lock().push(child.is_ok());
            child?;
        }
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_gets_an_undecodable_child_waits_for_it_and_is_no_failure() {
    for owns in [true, false] {
        let (log, _guard) = Log::start();
        let cluster = with_strings().await;
        let owner = cluster.create(&ConfigMap::named("owner")).await.unwrap();
        let owners = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid(),
            "controller": true,
        }]);
        create_bad(
            &cluster,
            json!({"name": "child", "ownerReferences": owners}),
        )
        .await;
        let calls = Arc::default();
        let reconciler = ReadsChild { owns, calls };
        let calls = reconciler.calls.clone();
        let running = started(&cluster, reconciler, &Arc::default()).await;
        tokio::time::sleep(Duration::from_secs(25)).await;
        assert_eq!(*calls.lock(), [false]);
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].contains("cannot be decoded: spec.size"),
            "{lines:?}"
        );
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(*calls.lock(), [false, false], "no event may lead to it");
        cluster
            .patch::<Widget>("child", json!({"spec": {"size": 7}}))
            .await
            .unwrap();
        // The owner of a child is told at once.
        tokio::time::sleep(Duration::from_secs(if owns { 1 } else { 30 })).await;
        assert_eq!(calls.lock()[2..], [true]);
        assert_eq!(log.lines().len(), 1);
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_logged_once_with_its_path_and_others_are_reconciled() {
    let (log, _guard) = Log::start();
    let cluster = with_strings().await;
    let (running, seen) = running(&cluster, Probe::idle()).await;
    let bad = create_bad(&cluster, json!({"name": "bad"})).await;
    cluster.create(&widget("good", 1)).await.unwrap();
    seen.until_calls("good", 1).await;
    seen.until_quiet().await;
    let version = bad.resource_version().unwrap();
    assert_eq!(
        log.lines(),
        [format!(
            "Widget default/bad (resource version {version}) cannot be decoded: spec.size: expected i32, found a string: ignored until the object or the program's type is corrected"
        )]
    );
    assert_eq!((seen.sizes("bad").len(), seen.deletions("bad")), (0, 0));
    cluster
        .patch::<Widget>("bad", json!({"spec": {"size": 7}}))
        .await
        .unwrap();
    seen.until_calls("bad", 1).await;
    assert_eq!(seen.sizes("bad"), [7]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_reconcile_is_logged_with_its_next_attempt_and_others_continue() {
    let (log, _guard) = Log::start();
    let cluster = cluster().await;
    cluster.create(&widget("fails", 1)).await.unwrap();
    cluster.create(&widget("panics", 1)).await.unwrap();
    let (running, seen) = running(
        &cluster,
        Probe::new(async |widget, call| match (widget.name(), call) {
            ("fails", 1) => Err(Failure::new("the page is\nempty")),
            ("fails", 2) => Err(Failure::new("the page is empty").terminal()),
            ("panics", 1) => panic!("no page"),
            _ => Ok(Action::wait()),
        }),
    )
    .await;
    for (name, calls) in [("a", 1), ("fails", 2), ("panics", 2)] {
        seen.until_calls(name, calls).await;
    }
    seen.until_quiet().await;
    let mut lines = log.lines();
    // A busy machine may be slow in a listener.
    lines.retain(|line| line.starts_with("reconcile "));
    lines.sort();
    let expected = [
        "reconcile Widget default/fails failed (attempt 1, next in 5ms): the page is empty",
        "reconcile Widget default/fails failed (not retried): the page is empty",
        "reconcile Widget default/panics failed (attempt 1, next in 5ms): panicked: no page (tests/tests/bad_input.rs",
    ];
    // After the file come line and column.
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| {
            line.split_once(".rs:")
                .map_or(line.as_str(), |(text, _)| &line[..text.len() + 3])
        })
        .collect();
    assert_eq!(lines, expected);
    running.stop().await;
}
