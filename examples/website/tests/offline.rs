//! The reconciler without a server or caches: the objects that it writes for a site.
#![cfg(feature = "dev")]

use pilothouse::{
    k8s::{
        api::{apps::v1::DeploymentStatus, core::v1::ConfigMap},
        jiff::Timestamp,
    },
    prelude::*,
    resource::{Conditions, NewCondition, Status},
    testing::{self, Offline},
};
use website::{Website, WebsiteReconciler, WebsiteSpec, WebsiteStatus};

#[allow(dead_code)]
#[path = "../src/main.rs"]
mod website;

// ANCHOR: definition
#[test]
fn the_definition_is_accepted() {
    testing::definition::<Website>().check().unwrap();
}
// ANCHOR_END: definition

fn site(html: &str) -> Website {
    Website {
        metadata: ObjectMeta {
            name: Some("hello".into()),
            ..Default::default()
        },
        spec: WebsiteSpec {
            replicas: 2,
            html: html.into(),
        },
        status: None,
    }
}

/// Sets the status as the controller of Deployments would.
fn with_ready(mut deployment: Deployment, pods: i32) -> Deployment {
    deployment.status = Some(DeploymentStatus {
        ready_replicas: Some(pods),
        ..Default::default()
    });
    deployment
}

#[tokio::test]
async fn a_reconcile_applies_the_page_and_the_deployment_and_reports_the_ready_pods() {
    let offline = Offline::new(WebsiteReconciler);
    let hello = offline.seed(site("<h1>Hello</h1>"));
    let action = offline.reconcile("hello").await.unwrap();
    assert_eq!(action, Action::wait());

    let page = offline.get::<ConfigMap>("hello").unwrap();
    assert_eq!(page.data.unwrap()["index.html"], "<h1>Hello</h1>");
    let deployment = offline.get::<Deployment>("hello").unwrap();
    assert_eq!(deployment.spec.replicas, Some(2));
    let owners = deployment.metadata.owner_references.as_deref().unwrap();
    assert_eq!(Some(&owners[0].uid), hello.metadata.uid.as_ref());
    let ready = || {
        let status = offline.get::<Website>("hello").unwrap().status;
        status.map(|status| status.ready_replicas)
    };
    assert_eq!(ready(), Some(0));

    offline.seed(with_ready(deployment, 2));
    let _ = offline.reconcile("hello").await.unwrap();
    assert_eq!(ready(), Some(2));

    // Another reconcile writes nothing.
    offline.forget_writes();
    let _ = offline.reconcile("hello").await.unwrap();
    assert_eq!(offline.writes(), []);
    assert_eq!(offline.access_use().unused().to_string(), "");
}

#[tokio::test]
async fn a_refused_child_sets_the_condition_ready_and_records_an_event() {
    let offline = Offline::new(WebsiteReconciler);
    // The site has failed for another reason for a long time.
    let mut long_ago = WebsiteStatus::default();
    let since = Timestamp::from_second(1_000_000_000).unwrap();
    let failed = NewCondition::is_false("Ready", "CleanupFailed");
    long_ago.conditions.set(failed, since).unwrap();
    let mut hello = site("<h1>Hello</h1>");
    hello.status = Some(long_ago);
    let hello = offline.seed(hello);
    let ready = || {
        let status = offline.get::<Website>("hello").unwrap().status.unwrap();
        let ready = status.conditions.of_type("Ready").cloned().unwrap();
        assert_eq!(ready.observed_generation, hello.metadata.generation);
        let failing = ready.status == "False";
        assert_eq!(ready.last_transition_time.0 == since, failing);
        (ready.status, ready.reason, ready.message)
    };
    let refused = Status {
        reason: "Invalid".into(),
        ..Status::from_code(422, "spec.template: Required value")
    };
    offline.fail_next::<Deployment>("apply", refused);
    let failure = offline.reconcile("hello").await.unwrap_err().to_string();
    assert_eq!(
        ready(),
        ("False".into(), "ReconcileFailed".into(), failure.clone())
    );
    let events = offline.events();
    assert_eq!(events[0].reason.as_deref(), Some("ReconcileFailed"));
    assert_eq!(events[0].note, Some(failure));

    let _ = offline.reconcile("hello").await.unwrap();
    let (status, reason, _) = ready();
    assert_eq!((&*status, &*reason), ("True", "Reconciled"));
    assert!(offline.events().is_empty());
}

#[tokio::test]
async fn after_a_change_of_the_page_only_the_page_is_written() {
    let offline = Offline::new(WebsiteReconciler);
    let mut hello = offline.seed(site("<h1>Hello</h1>"));
    let _ = offline.reconcile("hello").await.unwrap();
    offline.forget_writes();

    hello = offline.get::<Website>("hello").unwrap_or(hello);
    hello.spec.html = "<h1>Changed</h1>".into();
    offline.seed(hello);
    let _ = offline.reconcile("hello").await.unwrap();
    let pages = offline.written::<ConfigMap>();
    assert_eq!(pages.len(), 1);
    assert_eq!(offline.writes().len(), 1);
    let data = pages[0].data.as_ref().unwrap();
    assert_eq!(data["index.html"], "<h1>Changed</h1>");
}

#[tokio::test]
async fn no_deployment_is_applied_if_the_page_fails() {
    let offline = Offline::new(WebsiteReconciler);
    offline.seed(site("<h1>Hello</h1>"));
    offline.fail_next::<ConfigMap>("apply", Status::from_code(503, "not now"));
    let failure = offline.reconcile("hello").await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "apply ConfigMap default/hello: service unavailable: not now"
    );
    assert!(!failure.is_terminal());
    assert!(offline.get::<Deployment>("hello").is_none());

    let _ = offline.reconcile("hello").await.unwrap();
    assert!(offline.get::<Deployment>("hello").is_some());
}
