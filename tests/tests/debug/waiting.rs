//! The pages of objects that wait, as a reader sees them in a browser.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use pilothouse::{
    controller::ObjectReport,
    operator::{Operator, Running},
    prelude::*,
    resource::ObjectKey,
    server::Address,
    testing::{Cluster, RequestMatcher},
};
use pilothouse_tests::chromium::{Browser, chromium};

use super::{json, text_after, words};
use crate::probe::{Widget, widget};
/// Waits in each of the ways in which a reconcile can wait.
struct Waits {
    calls: AtomicU32,
}

impl Waits {
    fn new() -> Self {
        Self {
            calls: AtomicU32::new(0),
        }
    }
}

impl Reconciler for Waits {
    type Resource = Widget;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.owns::<Deployment>().owns::<ConfigMap>()
    }

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context<Widget>) -> Result {
        match widget.name() {
            "child" => {
                cx.apply(server("server")).await?.ready_or_wait()?;
                Ok(Action::wait())
            }
            "password" => Err(Failure::waiting("the Secret password does not exist yet")),
            "counts" => Err(Failure::waiting(format!("size {}.", widget.spec.size))),
            "later" => Ok(Action::requeue_after(Duration::from_secs(90))),
            // Its next reconcile waits for what this one writes.
            _ => {
                let call = self.calls.fetch_add(1, Ordering::Relaxed);
                let mut map = words("of-writes");
                map.data = Some([("call".into(), call.to_string())].into());
                cx.apply(map).await?;
                Ok(Action::requeue_after(Duration::from_millis(1)))
            }
        }
    }
}

fn server(name: &str) -> Deployment {
    let labels = Labels::from([("app", name)]);
    let container = Container {
        name: "server".into(),
        image: Some("registry.example.com/server".into()),
        ..Container::default()
    };
    Deployment {
        spec: DeploymentSpec {
            selector: labels.selector(),
            template: PodTemplateSpec {
                metadata: Some(labels.metadata()),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::named(name)
    }
}

/// Waits until what the operator tells of an object fits.
async fn until(running: &Running, object: &str, fits: impl Fn(&ObjectReport) -> bool) {
    let key = ObjectKey::new(Some("default"), object);
    for _ in 0..3000 {
        let report = running.object_report("widget", &key).unwrap();
        if fits(&report) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let report = running.object_report("widget", &key).unwrap();
    panic!("{:#}", json(&report));
}

/// A reader opens the pages of objects that wait, and of their children.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_what_an_object_waits_for_and_which_child_is_not_ready() {
    let Some(browser) = chromium() else {
        return;
    };
    let cluster = Cluster::start().unwrap();
    cluster.pods().of("server").never_ready();
    let operator = Operator::new("waits").controller(Waits::new()).debug_page();
    let operator = operator.metrics_address(Address::loopback(0));
    let running = cluster.run(operator).await.unwrap();
    let watches = RequestMatcher::any().verb("watch").resource("configmaps");
    cluster.faults().hold_watches(watches);
    for name in ["child", "password", "later", "writes"] {
        cluster.create(&widget(name, 1)).await.unwrap();
    }
    let url = format!("http://{}/debug", running.http_address().unwrap());
    let mut browser = Browser::start(&browser).await;
    let mut open = async |object: &str, element: &str, shown: &str| {
        let url = format!("{url}#widget/default%2F{object}");
        browser.open(&url).await;
        let condition = format!("text().includes({shown:?})");
        let found = text_after(&mut browser, element, &condition).await;
        assert!(found.contains(shown), "{object}, {element}: {found}");
        let all = "[document.querySelector('#object-state').textContent, document.querySelector('#children').innerText, document.querySelector('#timeline').innerText].join('\\n')";
        browser.evaluate::<String>(all).await
    };

    // The child is created, but its pod does not become ready.
    let reason = "0 of 1 replicas are available";
    until(&running, "child", |report| {
        let child = report.children.first();
        child.is_some_and(|child| {
            child.ready == Some(false)
                && child
                    .reason
                    .as_ref()
                    .is_some_and(|why| why.contains(reason))
        }) && report.reconciles[0].outcome == Some("waits")
    })
    .await;
    let page = open("child", "#children", reason).await;
    for text in [
        "Deployment default/server\tnot ready\t",
        "apply Deployment default/server",
        "waits ",
        "Deployment default/server is not ready",
    ] {
        assert!(page.contains(text), "no {text:?} in:\n{page}");
    }

    let page = open("password", "#timeline", "does not exist yet").await;
    for text in [
        "The caches have no children of this object.",
        "waits ",
        "because created: created",
        "the Secret password does not exist yet",
    ] {
        assert!(page.contains(text), "no {text:?} in:\n{page}");
    }
    assert!(!page.contains("failed"), "{page}");

    let page = open("later", "#object-state", "delayed · due in ").await;
    let again = "asked for the next reconcile after 90 s";
    assert!(page.contains(again), "{page}");

    // After 10 s the operator would ask the server once, and then the next reconcile would write again and wait.
    let waits_for = "waits for its own writes · ";
    let page = open("writes", "#object-state", waits_for).await;
    let version = "waits for ConfigMap default/of-writes at version ";
    assert!(page.contains(version), "{page}");
    cluster.faults().release_watches();
    until(&running, "writes", |report| {
        let mut reconciles = report.reconciles.iter();
        reconciles.any(|one| one.waited_for_own_writes_seconds.is_some())
    })
    .await;
    let waited = " until the caches had what the reconcile before wrote";
    let page = open("writes", "#timeline", waited).await;
    let again = "asked for the next reconcile after 1 ms";
    assert!(page.contains(again), "{page}");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Each change of the object is one reconcile.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_the_newest_50_reconciles_of_an_object_the_newest_first() {
    let Some(browser) = chromium() else {
        return;
    };
    let cluster = Cluster::start().unwrap();
    let operator = Operator::new("waits").controller(Waits::new()).debug_page();
    let operator = operator.metrics_address(Address::loopback(0));
    let running = cluster.run(operator).await.unwrap();
    cluster.create(&widget("counts", 1)).await.unwrap();
    for size in 1..=60 {
        if size > 1 {
            let change = json!({"spec": {"size": size}});
            cluster.patch::<Widget>("counts", change).await.unwrap();
        }
        let text = format!("size {size}.");
        until(&running, "counts", |report| {
            let newest = report.reconciles.first();
            newest.is_some_and(|one| one.text.as_ref() == Some(&text))
        })
        .await;
    }
    let mut browser = Browser::start(&browser).await;
    let address = running.http_address().unwrap();
    browser
        .open(&format!("http://{address}/debug#widget/default%2Fcounts"))
        .await;
    text_after(&mut browser, "#timeline", "text().includes('size 60.')").await;
    let sizes = "[...document.querySelectorAll('#timeline > li')].map(one => Number(one.textContent.match(/size (\\d+)\\./)[1]))";
    let sizes: Vec<i32> = browser.evaluate(sizes).await;
    assert_eq!(sizes, (11..=60).rev().collect::<Vec<_>>());
}
