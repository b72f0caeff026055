//! R11: a controller works while its process leads, and at no other time.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use pilothouse_sandbox::Sandbox;

use super::world::*;
use crate::{
    client::{Client, Config},
    controller::{Controller, Environment},
    election::{Election, ElectionSettings, Leading, Turn},
    metrics::Metrics,
};

async fn lead() -> Leading {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(sandbox.connect())))
        .build()
        .unwrap();
    let settings = ElectionSettings::new("test");
    let election = Election::on_the_tests_clock(&client, settings, &Metrics::new());
    election.unwrap().lead().await
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_before_the_turn_comes_nor_after_it_is_over() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    maps.put(named("a"));
    let probe = Probe::<ConfigMap>::new();
    let calls = probe.calls.clone();
    let turn = Turn::new();
    let environment = Environment {
        turn: Some(turn.clone()),
        ..world.environment()
    };
    let controller = Controller::new(probe);
    let status = controller.status();
    let task = tokio::spawn(controller.run(environment, world.cancel.child_token()));
    pass(1000).await;
    assert!(status.is_standing_by() && !status.is_working());
    assert_eq!(calls.keys(), [""; 0]);
    let leading = lead().await;
    turn.begin(&leading);
    pass(1000).await;
    assert!(status.is_working());
    assert_eq!(calls.keys(), ["default/a"]);
    // Nobody told the controller to stop.
    drop(leading);
    maps.put(named("b"));
    pass(1000).await;
    assert_eq!(calls.keys(), ["default/a"]);
    world.cancel.cancel();
    task.await.unwrap();
}
