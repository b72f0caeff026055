//! The writes of a controller: child objects and statuses, over the whole client and the sandbox, in memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use pilothouse::{
    cache::Informers,
    client::{Api, DeleteParams, Patch, PatchParams, PostParams},
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    k8s::api::{
        apps::v1::{Deployment, DeploymentStatus},
        core::v1::{ConfigMap, Secret},
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus},
    },
    k8s::jiff::Timestamp,
    metrics::Metrics,
    resource::{AccessRule, Conditions, NewCondition, Object, Resource},
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Keeps a page for every Deployment and reports it in the status.
#[derive(Clone, Default)]
struct Pages {
    runs: Arc<AtomicUsize>,
    /// The value in the page.
    edition: Arc<AtomicI32>,
}

impl Reconciler for Pages {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        // A controller must declare the access to the status of a built-in kind.
        let status = AccessRule::of::<Deployment>(["patch"]).subresource("status");
        controller.owns::<ConfigMap>().access(status)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let edition = self.edition.load(Ordering::SeqCst).to_string();
        let mut page = ConfigMap::default();
        page.metadata.name = Some(object.name().to_owned());
        page.data = Some([("edition".to_owned(), edition)].into());
        let page = cx.apply(page).await?;
        assert!(page.metadata.resource_version.is_some());
        cx.update_status(DeploymentStatus {
            observed_generation: Some(1),
            ..replicas(self.edition.load(Ordering::SeqCst))
        })
        .await?;
        Ok(Action::wait())
    }
}

fn replicas(replicas: i32) -> DeploymentStatus {
    DeploymentStatus {
        replicas: Some(replicas),
        ..DeploymentStatus::default()
    }
}

struct Running {
    cluster: Cluster,
    metrics: Metrics,
    cancel: CancellationToken,
}

impl Running {
    async fn start(reconciler: impl Reconciler<Resource: Resource>) -> Self {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
        Self::on(cluster, reconciler)
    }

    /// Starts a process without any state from before.
    fn on(cluster: Cluster, reconciler: impl Reconciler<Resource: Resource>) -> Self {
        let metrics = Metrics::new();
        let informers = Informers::new(cluster.client().clone(), metrics.clone());
        let cancel = CancellationToken::new();
        informers.start(&cancel);
        let environment = Environment::new(
            informers,
            cluster.client().clone(),
            metrics.clone(),
            "pages",
        );
        let controller = Controller::new(reconciler);
        tokio::spawn(controller.run(environment, cancel.clone()));
        Self {
            cluster,
            metrics,
            cancel,
        }
    }

    /// The value of a series of the only controller.
    fn metric(&self, series: &str, labels: &[(&str, &str)]) -> f64 {
        self.metrics.value(series, labels).unwrap_or_default()
    }

    fn status_echoes(&self) -> f64 {
        self.metric("pilothouse_controller_status_echoes_total", &[])
    }

    /// Changes a label of the Deployment.
    async fn label(&self) {
        let api = self.cluster.api::<Deployment>();
        let mut web = api.get("web").await.unwrap();
        web.metadata.labels = Some([("x".to_owned(), "y".to_owned())].into());
        api.replace("web", &PostParams::default(), &web)
            .await
            .unwrap();
    }

    /// Runs `what` and returns the verb and path of all writes until nothing changes any more.
    async fn writes_after<F: Future>(&self, what: F) -> Vec<String> {
        self.cluster.forget_requests();
        what.await;
        self.cluster.settle().await;
        let writes = self.cluster.writes();
        let line = |write: &pilothouse::testing::RecordedRequest| {
            format!("{} {} {}", write.method, write.path, write.status)
        };
        writes.iter().map(line).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }))
    .unwrap()
}

const PAGE: &str = "PATCH /api/v1/namespaces/default/configmaps/web 200";
const PAGE_CREATED: &str = "PATCH /api/v1/namespaces/default/configmaps/web 201";
const STATUS: &str = "PATCH /apis/apps/v1/namespaces/default/deployments/web/status 200";

async fn with_web(pages: &Pages) -> Running {
    let running = Running::start(pages.clone()).await;
    running.cluster.create(&deployment("web")).await.unwrap();
    running.cluster.settle().await;
    running
}

#[tokio::test(start_paused = true)]
async fn a_new_object_costs_one_write_per_child_and_status_and_echoes_cost_none() {
    let pages = Pages::default();
    let running = Running::start(pages.clone()).await;
    let writes = running
        .writes_after(async {
            running.cluster.create(&deployment("web")).await.unwrap();
            running.cluster.settle().await;
        })
        .await;
    assert_eq!(writes[1..], [PAGE_CREATED, STATUS], "{writes:?}");
    let page: ConfigMap = running.cluster.get("web").await.unwrap().unwrap();
    let owner = &page.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("Deployment", Some(true))
    );
    // The creation of the page is a change of a child. The change of the status triggers nothing.
    assert!(pages.runs.load(Ordering::SeqCst) <= 2);
    assert_eq!(running.status_echoes(), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_changes_nothing_sends_nothing() {
    let pages = Pages::default();
    let running = with_web(&pages).await;
    let runs = pages.runs.load(Ordering::SeqCst);
    let writes = running.writes_after(running.label()).await;
    assert_eq!(
        writes,
        ["PUT /apis/apps/v1/namespaces/default/deployments/web 200"]
    );
    assert_eq!(pages.runs.load(Ordering::SeqCst), runs + 1);
}

#[tokio::test(start_paused = true)]
async fn a_restart_without_changes_writes_neither_children_nor_statuses() {
    let pages = Pages::default();
    pages.edition.store(1, Ordering::SeqCst);
    let running = with_web(&pages).await;
    let cluster = running.cluster.clone();
    drop(running);
    cluster.settle().await;
    let runs = pages.runs.load(Ordering::SeqCst);
    let again = Running::on(cluster, pages.clone());
    let writes = again.writes_after(async {}).await;
    assert_eq!(pages.runs.load(Ordering::SeqCst), runs + 1);
    assert!(writes.is_empty(), "{writes:?}");
    let skipped = again.metric(
        "pilothouse_controller_writes_total",
        &[("result", "skipped")],
    );
    assert_eq!(skipped, 2.0);
}

#[tokio::test(start_paused = true)]
async fn the_echo_of_a_status_write_triggers_no_reconcile() {
    let pages = Pages::default();
    let running = with_web(&pages).await;
    let runs = pages.runs.load(Ordering::SeqCst);
    pages.edition.store(3, Ordering::SeqCst);
    let echoes = running.status_echoes();
    let writes = running.writes_after(running.label()).await;
    assert_eq!(writes[1..], [PAGE, STATUS]);
    // One run for the label, none for the written page and status.
    assert_eq!(pages.runs.load(Ordering::SeqCst), runs + 1);
    assert_eq!(running.status_echoes(), echoes + 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_status_changed_by_others_is_repaired() {
    let pages = Pages::default();
    let running = with_web(&pages).await;
    let api = running.cluster.api::<Deployment>();
    let writes = running
        .writes_after(async {
            let mut web = api.get("web").await.unwrap();
            web.status.get_or_insert_default().replicas = Some(77);
            api.replace_status("web", &PostParams::default(), &web)
                .await
                .unwrap();
        })
        .await;
    assert_eq!(writes, [&STATUS.replace("PATCH", "PUT"), STATUS]);
    let web: Deployment = running.cluster.get("web").await.unwrap().unwrap();
    assert_eq!(web.status.unwrap().replicas.unwrap_or(0), 0);
}

#[tokio::test(start_paused = true)]
async fn a_manually_changed_or_deleted_child_is_repaired() {
    let pages = Pages::default();
    let running = with_web(&pages).await;
    let changed = running
        .writes_after(async {
            let api = running.cluster.api::<ConfigMap>();
            let mut page = api.get("web").await.unwrap();
            page.data = Some([("edition".to_owned(), "torn".to_owned())].into());
            api.replace("web", &PostParams::default(), &page)
                .await
                .unwrap();
        })
        .await;
    assert_eq!(changed, [&PAGE.replace("PATCH", "PUT"), PAGE]);
    let page: ConfigMap = running.cluster.get("web").await.unwrap().unwrap();
    assert_eq!(page.data.unwrap()["edition"], "0");

    let api = running.cluster.api::<ConfigMap>();
    let deleted = running
        .writes_after(async { api.delete("web", &DeleteParams::default()).await.unwrap() })
        .await;
    assert_eq!(
        deleted,
        [
            "DELETE /api/v1/namespaces/default/configmaps/web 200",
            PAGE_CREATED
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_retried_and_its_error_names_the_write() {
    struct Wrong;
    impl Reconciler for Wrong {
        type Resource = Deployment;
        fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
            controller.owns::<ConfigMap>()
        }
        async fn reconcile(&self, _: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
            let named = |namespace: Option<&str>, name: &str| {
                let mut page = ConfigMap::default();
                page.metadata.namespace = namespace.map(str::to_owned);
                page.metadata.name = (!name.is_empty()).then(|| name.to_owned());
                page
            };
            let mut texts = Vec::new();
            for child in [
                named(None, ""),
                named(Some("other"), "x"),
                named(None, "No"),
            ] {
                texts.push(cx.apply(child).await.unwrap_err().to_string());
            }
            texts.push(cx.apply(Secret::default()).await.unwrap_err().to_string());
            assert_eq!(
                texts[0],
                "apply ConfigMap: the object has no name: set `metadata.name`"
            );
            assert_eq!(
                texts[1],
                "apply ConfigMap other/x: the child is not in the namespace of its owner default/web, so no owner reference can reach it: leave `metadata.namespace` empty, or apply `Child::new(..).detached()`, and declare `.watch(Owned::<ConfigMap>::new().detached())` and a finalizer in `wire`"
            );
            assert!(
                texts[2].starts_with("apply ConfigMap default/No: "),
                "{}",
                texts[2]
            );
            assert_eq!(
                texts[3],
                "apply Secret: `wire` does not declare this kind: add `.owns::<Secret>()` there"
            );
            Ok(Action::requeue_after(Duration::from_secs(3600)))
        }
    }
    let running = Running::start(Wrong).await;
    running.cluster.create(&deployment("web")).await.unwrap();
    running.cluster.settle().await;
    assert_eq!(
        (
            running.metric("controller_runtime_reconcile_panics_total", &[]),
            running.metric(
                "controller_runtime_reconcile_total",
                &[("result", "requeue_after")]
            )
        ),
        (0.0, 1.0)
    );
}

/// Sets a condition twice in each reconcile, building it from scratch each time.
#[derive(Clone, Default)]
struct Budgets {
    seconds: Arc<AtomicI64>,
    /// The reason that it sets the second time.
    second: &'static str,
}

impl Budgets {
    fn status(&self, budget: &PodDisruptionBudget, reason: &str) -> PodDisruptionBudgetStatus {
        let second = self.seconds.fetch_add(100, Ordering::SeqCst);
        let mut conditions = Vec::new();
        let ready = NewCondition::is_true("Ready", reason).observed(budget);
        let now = Timestamp::from_second(second).unwrap();
        conditions.set(ready, now).unwrap();
        PodDisruptionBudgetStatus {
            conditions: Some(conditions),
            ..PodDisruptionBudgetStatus::default()
        }
    }
}

impl Reconciler for Budgets {
    type Resource = PodDisruptionBudget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let status = AccessRule::of::<PodDisruptionBudget>(["patch"]).subresource("status");
        controller.access(status)
    }

    async fn reconcile(
        &self,
        budget: Arc<PodDisruptionBudget>,
        cx: &Context<PodDisruptionBudget>,
    ) -> Result {
        cx.update_status(self.status(&budget, "First")).await?;
        cx.update_status(self.status(&budget, self.second)).await?;
        Ok(Action::wait())
    }
}

const BUDGET_STATUS: &str =
    "PATCH /apis/policy/v1/namespaces/default/poddisruptionbudgets/web/status 200";

async fn with_budget(second: &'static str) -> (Running, Vec<String>) {
    let running = Running::start(Budgets {
        second,
        ..Budgets::default()
    })
    .await;
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }))
    .unwrap();
    let writes = running
        .writes_after(async {
            running.cluster.create(&budget).await.unwrap();
            running.cluster.settle().await;
        })
        .await;
    (running, writes)
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_condition_keeps_its_time_through_every_write_of_a_reconcile() {
    let (running, writes) = with_budget("Second").await;
    assert_eq!(writes[1..], [BUDGET_STATUS, BUDGET_STATUS]);
    let budget: PodDisruptionBudget = running.cluster.get("web").await.unwrap().unwrap();
    let condition = &budget.status.unwrap().conditions.unwrap()[0];
    assert_eq!(condition.reason, "Second");
    assert_eq!(condition.last_transition_time.0.as_second(), 0);
    assert_eq!(condition.observed_generation, budget.metadata.generation);
    assert_eq!(condition.observed_generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_status_is_sent_once_and_not_by_the_next_reconcile() {
    let (running, writes) = with_budget("First").await;
    assert_eq!(writes[1..], [BUDGET_STATUS]);
    let label = json!({"metadata": {"labels": {"x": "y"}}});
    let writes = running
        .writes_after(async {
            let api = running.cluster.api::<PodDisruptionBudget>();
            let patch = Patch::Merge(label);
            api.patch("web", &PatchParams::default(), &patch)
                .await
                .unwrap();
        })
        .await;
    assert_eq!(writes.len(), 1, "only the label: {writes:?}");
}

/// Sets a status and reverts it in the same reconcile, while somebody else writes.
#[tokio::test(start_paused = true)]
async fn a_status_that_is_reverted_within_a_reconcile_is_sent_even_after_a_conflict() {
    struct Back;
    impl Reconciler for Back {
        type Resource = Deployment;
        fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
            let rule = |verbs: [&str; 1]| AccessRule::of::<Deployment>(verbs);
            controller
                .access(rule(["patch"]))
                .access(rule(["patch"]).subresource("status"))
        }
        async fn reconcile(&self, web: Arc<Deployment>, cx: &Context<Deployment>) -> Result {
            if web.label("x").is_some() {
                return Ok(Action::wait());
            }
            cx.update_status(replicas(1)).await?;
            // A change that this reconcile has not seen.
            let api = Api::<Deployment>::namespaced(cx.live(), "default");
            let patch = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
            api.patch("web", &PatchParams::default(), &patch).await?;
            cx.update_status(replicas(2)).await?;
            cx.update_status(replicas(1)).await?;
            Ok(Action::wait())
        }
    }
    let running = Running::start(Back).await;
    running.cluster.create(&deployment("web")).await.unwrap();
    running.cluster.settle().await;
    let web: Deployment = running.cluster.get("web").await.unwrap().unwrap();
    assert_eq!(web.status.unwrap().replicas, Some(1));
}
