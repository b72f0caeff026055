mod blocking;
mod catching_up;
mod command_line;
mod definitions;
mod elected;
mod failing;
mod panics;
mod readiness;
mod roles;
#[cfg(feature = "dev")]
mod rules;
mod runnables;
mod stopping;
#[cfg(feature = "self-signed")]
mod webhook_configurations;
#[cfg(feature = "self-signed")]
mod webhooks;
mod world;

/// A program with its own runtime can spawn the operator: its future is `Send`.
#[allow(dead_code)]
fn an_operator_can_be_spawned_as_a_task(
    operator: crate::operator::Operator,
    client: crate::client::Client,
) {
    fn spawned<F: Future + Send + 'static>(_: F) {}
    let installed = client.clone();
    spawned(async move {
        operator.install(&installed).await?;
        operator.run(client, Default::default()).await
    });
}
