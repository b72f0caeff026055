//! No reconcile before every wired kind has synced (R4).

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
};

use super::world::*;
use crate::controller::{Action, Controller};

#[tokio::test(start_paused = true)]
async fn no_reconcile_before_every_wired_kind_has_synced() {
    type Wire = fn(Controller<Probe<Deployment>>) -> Controller<Probe<Deployment>>;
    let wires: [Wire; 3] = [
        |wire| wire.owns::<ConfigMap>(),
        |wire| wire.watches::<ConfigMap>(|_| Vec::new()),
        |wire| wire.reads::<ConfigMap>(),
    ];
    for wire in wires {
        let world = World::new();
        let (webs, children) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
        webs.put(named("a"));
        children.put(named("child"));
        children.forbid(true);
        let probe = Probe::<Deployment>::new().wired(wire);
        let calls = probe.calls.clone();
        let controller = Controller::new(probe);
        let status = controller.status();
        world.start(controller);
        pass(60_000).await;
        assert!(calls.keys().is_empty() && !status.is_working());

        children.forbid(false);
        pass(60_000).await;
        assert_eq!(calls.keys(), ["default/a"]);
        assert!(status.is_working());
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_reads_the_objects_of_the_first_lists() {
    struct Reader;
    impl crate::controller::Reconciler for Reader {
        type Resource = Deployment;
        fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
            controller.reads::<ConfigMap>()
        }
        async fn reconcile(
            &self,
            _: std::sync::Arc<Deployment>,
            cx: &crate::controller::Context<Deployment>,
        ) -> crate::controller::Result {
            assert!(cx.get::<ConfigMap>("settings")?.is_some());
            assert!(cx.get::<ConfigMap>("missing")?.is_none());
            assert!(cx.get_in::<ConfigMap>("elsewhere", "settings")?.is_none());
            assert_eq!(cx.list::<ConfigMap>()?.items.len(), 1);
            assert_eq!(cx.list_all::<ConfigMap>()?.items.len(), 2);
            let error = cx.get::<Secret>("token").unwrap_err();
            assert_eq!(
                error.to_string(),
                "get Secret: `wire` does not declare this kind: add `.reads::<Secret>()` there"
            );
            Ok(Action::wait())
        }
    }
    let world = World::new();
    let (webs, settings) = (world.kind::<Deployment>(), world.kind::<ConfigMap>());
    webs.put(named("a"));
    settings.put(named("settings"));
    settings.put(named("other/settings"));
    world.start(Controller::new(Reader));
    settle().await;
    let metrics = world.metrics.controller("deployment");
    assert_eq!((metrics.success.get(), metrics.panics.get()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_holds_back_only_its_own_controller_and_shows_in_its_status() {
    let world = World::new();
    let (webs, services) = (world.kind::<Deployment>(), world.kind::<Service>());
    world.kind::<Secret>().forbid(true);
    webs.put(named("a"));
    services.put(named("a"));
    let held = Probe::<Deployment>::new().wired(|wire| wire.reads::<Secret>());
    let free = Probe::<Service>::new();
    let (held_calls, free_calls) = (held.calls.clone(), free.calls.clone());
    let held = Controller::new(held);
    let status = held.status();
    assert_eq!(status.to_string(), "not started");
    world.start(held);
    world.start(Controller::new(free));
    pass(5000).await;
    assert!(held_calls.keys().is_empty());
    assert_eq!(free_calls.keys(), ["default/a"]);
    let text = status.to_string();
    assert!(text.starts_with("waiting for its caches: "), "{text}");
    assert!(
        text.contains("secrets") && text.contains("forbidden"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait() {
    let world = World::new();
    world.kind::<Deployment>().forbid(true);
    let controller = Controller::new(Probe::<Deployment>::new());
    let status = controller.status();
    let running = world.start(controller);
    settle().await;
    world.cancel.cancel();
    running.await.unwrap();
    assert_eq!(status.to_string(), "stopped");
}
