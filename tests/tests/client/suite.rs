//! Runs the scenarios.

use std::{any::Any, env, fs, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use pilothouse_sandbox::Sandbox;
use pilothouse_tests::{
    containers::{self, NODE},
    real::RealServer,
};

use crate::{
    Target,
    differences::{Server, reason},
    target::Nodes,
};

/// The number of scenarios that run at once on the real server.
const AT_ONCE: usize = 6;

/// A test that runs against a server.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Arc<Target>) -> BoxFuture<'static, ()>,
}

pub(crate) async fn on_the_sandbox(name: &str) {
    if !chosen(name) {
        return;
    }
    let all = crate::all();
    let scenario = all.iter().find(|scenario| scenario.name == name).unwrap();
    let sandbox = Sandbox::builder()
        .seed(1)
        .simulator(true)
        .cbor(true)
        .build()
        .unwrap();
    let server = sandbox
        .serve_https(([127, 0, 0, 1], 0).into())
        .await
        .unwrap();
    let kubeconfig = sandbox.kubeconfig(&server);
    let folder = tempfile::tempdir().unwrap();
    containers::register(&sandbox, folder.path());
    containers::attach_to_cat(&sandbox, folder.path());
    let target = Target::start(kubeconfig, Nodes::Simulated(sandbox.clone())).await;
    let outcome = outcome(scenario, Server::Sandbox, target).await;
    sandbox.shutdown().await;
    outcome.unwrap();
}

pub(crate) async fn on_a_real_server(all: Vec<Scenario>) {
    let Some(server) =
        RealServer::from_environment(&["--feature-gates=CBORServingAndStorage=true"])
    else {
        return;
    };
    let kubeconfig = fs::read_to_string(server.kubeconfig()).unwrap();
    // A foreign API server cannot reach a kubelet here.
    let nodes = match server.is_own() {
        true => Nodes::Served {
            _node: Arc::new(server.serve_node(NODE)),
        },
        false => Nodes::Foreign,
    };
    let mut chosen: Vec<_> = all.into_iter().filter(|one| chosen(one.name)).collect();
    if !server.is_own() {
        let before = chosen.len();
        chosen.retain(|scenario| !scenario.name.starts_with("streams::"));
        if chosen.len() < before {
            println!(
                "skipped: logs, exec and port-forward: a foreign API server does not reach a kubelet of this machine"
            );
        }
    }
    let chosen = chosen.into_iter();
    let outcomes = stream::iter(chosen)
        .map(|scenario| {
            let (kubeconfig, nodes) = (kubeconfig.clone(), nodes.clone());
            async move {
                let target = Target::start(kubeconfig, nodes).await;
                outcome(&scenario, Server::Real, target).await
            }
        })
        .buffer_unordered(AT_ONCE);
    let outcomes: Vec<_> = outcomes.collect().await;
    let gone_through = outcomes.len();
    let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(
        failed.is_empty(),
        "{} of {gone_through} scenarios failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
    println!("{gone_through} scenarios");
}

/// Whether the environment selects this scenario.
fn chosen(name: &str) -> bool {
    env::var("PILOTHOUSE_SCENARIO").map_or(true, |part| name.contains(&part))
}

/// Runs a scenario. A scenario that is known to differ must fail, otherwise its line is out of date.
async fn outcome(scenario: &Scenario, server: Server, target: Target) -> Result<(), String> {
    let target = Arc::new(target);
    let run = AssertUnwindSafe((scenario.run)(target.clone())).catch_unwind();
    let outcome = run.await;
    target.end().await;
    let name = scenario.name;
    match (outcome, reason(name, server)) {
        (Ok(()), None) => Ok(()),
        (Err(panic), None) => Err(format!("{name}: {}", text(&*panic))),
        (Err(_), Some(reason)) => {
            println!("{name} differs on {server:?}: {reason}");
            Ok(())
        }
        (Ok(()), Some(_)) => Err(format!("{name} does not differ any more: remove its line")),
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without text").to_owned()
}
