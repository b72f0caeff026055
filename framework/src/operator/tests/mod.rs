mod catching_up;
mod elected;
mod failing;
mod panics;
mod runnables;
mod stopping;
mod world;

/// A program with a runtime of its own spawns it.
#[allow(dead_code)]
fn an_operator_runs_in_a_task_of_its_own(
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
