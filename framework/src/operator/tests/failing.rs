//! An operator with a failing part stops, and other operators in the process go on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::world::*;
use crate::{
    controller::{Action, Cleanup, Context, Controller, Failure, Reconciler, Result},
    operator::{Operator, OperatorError},
};

#[tokio::test(start_paused = true)]
async fn a_runnable_that_fails_or_panics_stops_the_operator_and_is_named() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let failing = a
        .operator(&Scribe::quick())
        .runnable("mirror", |_, _| async { Err(Failure::new("no glass")) });
    let error = failing
        .run(a.client.clone(), CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the runnable mirror failed: no glass");
    assert_eq!(error.code(), 1);
    let panicking = a
        .operator(&Scribe::quick())
        .leader_runnable("mirror", |_, _| async { panic!("broken") });
    let error = panicking
        .run(a.client.clone(), CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the operator stops because a task failed: runnable mirror panicked: broken"
    );
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn an_operator_with_an_invalid_namespace_does_not_start_and_does_not_work_in_all() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let before = sandbox.requests().len();
    for name in ["", " b", "Bad_Name"] {
        let operator = a.operator(&Scribe::quick()).namespaces(["default", name]);
        let error = operator
            .start(a.client.clone())
            .await
            .unwrap_err()
            .to_string();
        let expected = format!(
            "the operator works in the namespace `{name}`, but the name of a namespace has to be a DNS label: "
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    assert_eq!(sandbox.requests().len(), before);
}

/// A controller whose `wire` is a function of the test.
struct Declares(fn(Controller<Declares>) -> Controller<Declares>);

impl Reconciler for Declares {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        (self.0)(controller)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result {
        Ok(Action::wait())
    }
}

impl Cleanup for Declares {}

#[tokio::test(start_paused = true)]
async fn an_operator_with_an_invalid_name_does_not_start_and_sends_no_request() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let before = sandbox.requests().len();
    let of = |declares| Operator::new("pages").controller(Declares(declares));
    let example = "write it in `wire` like `.finalizer(\"example.com/configmap\")`";
    for (operator, expected) in [
        (
            of(|controller| controller.finalizer("pages")),
            format!("the controller of ConfigMap cannot start: the finalizer `pages` must have your domain and a `/` before it: {example}"),
        ),
        (
            of(|controller| controller.finalizer("a.b/c").finalizer("a.b/d").finalizer("a.b/c")),
            format!("the controller of ConfigMap cannot start: the finalizer `a.b/c` is declared twice: {example}"),
        ),
        (
            of(|controller| controller.named("a/b")),
            "the controller of ConfigMap cannot start: the name of the controller, `a/b`, must not contain a `/`: write it in `wire` like `.named(\"configmap\")`".to_owned(),
        ),
        (
            Operator::new("my pages"),
            "the name of the operator, `my pages`, must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends: write it like `Operator::new(\"website\")`".to_owned(),
        ),
    ] {
        let error = operator.start(a.client.clone()).await.unwrap_err();
        assert_eq!((error.to_string(), error.code()), (expected, 1));
    }
    assert_eq!(sandbox.requests().len(), before);
    // No subcommand begins before this check: `dev` has the name in the path of its folder.
    let checked = Operator::new("../pages").check();
    assert!(matches!(checked, Err(OperatorError::Name { .. })));
}

#[tokio::test(start_paused = true)]
async fn several_operators_run_in_one_process_and_one_ends_without_the_others() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    a.create("one").await;
    let yours = [Arc::new(AtomicUsize::new(0)), Arc::default()];
    let first = a
        .operator(&Scribe::quick())
        .runnable("mirror", |_, _| async {
            sleep(seconds(30)).await;
            Err(Failure::new("no glass"))
        });
    let second = Operator::new("second")
        .controller(Counter("one", yours[0].clone()))
        .controller(Counter("other", yours[1].clone()));
    let cancel = CancellationToken::new();
    let first = tokio::spawn(first.run(a.client.clone(), cancel.clone()));
    let second = b.start(second).await;
    let error = first.await.unwrap().unwrap_err();
    assert!(matches!(error, OperatorError::Runnable { .. }));
    assert!(!cancel.is_cancelled() && is_ready(&second));
    b.create("two").await;
    sleep(seconds(1)).await;
    // Two controllers of the same kind have different names.
    assert_eq!(yours.map(|calls| count(&calls)), [2, 2]);
    let text = second.metrics().encode();
    assert!(!text.contains("\"configmap\""), "the other's metrics");
    for name in ["one", "other"] {
        let line = format!("controller_runtime_active_workers{{controller=\"{name}\"}} 0\n");
        assert!(text.contains(&line), "{line}");
    }
    second.stop().await;
}

/// Counts its calls.
struct Counter(&'static str, Arc<AtomicUsize>);

impl Reconciler for Counter {
    type Resource = ConfigMap;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.named(self.0)
    }

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Ok(Action::wait())
    }
}
