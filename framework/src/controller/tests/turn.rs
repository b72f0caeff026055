//! A controller works only while its process is the leader (R11).

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use pilothouse_sandbox::Sandbox;

use super::world::*;
use crate::{
    client::{Client, Config},
    controller::{Controller, Environment},
    election::{Election, ElectionSettings, LeadershipGate, Leading},
    metrics::Metrics,
};

async fn lead() -> Leading {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(sandbox.connect())))
        .build()
        .unwrap();
    let settings = ElectionSettings::new("test").on_tokio_clock();
    let election = Election::new(&client, settings, &Metrics::new());
    election.unwrap().lead().await
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_before_leadership_nor_after_it() {
    let world = World::new();
    let maps = world.kind::<ConfigMap>();
    maps.put(named("a"));
    let probe = Probe::<ConfigMap>::new();
    let calls = probe.calls.clone();
    let gate = LeadershipGate::new();
    let environment = Environment {
        leadership_gate: Some(gate.clone()),
        ..world.environment()
    };
    let controller = Controller::new(probe);
    let status = controller.status();
    let task = tokio::spawn(controller.run(environment, world.cancel.child_token()));
    pass(1000).await;
    assert!(status.is_standing_by() && !status.is_working());
    assert_eq!(calls.keys(), [""; 0]);
    let leading = lead().await;
    gate.open(&leading);
    pass(1000).await;
    assert!(status.is_working());
    assert_eq!(calls.keys(), ["default/a"]);
    // The controller was not cancelled.
    drop(leading);
    maps.put(named("b"));
    pass(1000).await;
    assert_eq!(calls.keys(), ["default/a"]);
    world.cancel.cancel();
    task.await.unwrap();
}
