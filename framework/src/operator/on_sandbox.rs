use std::sync::Arc;

use pilothouse_sandbox::Sandbox;

use super::OperatorError;
use crate::client::{Client, Config};

/// Asks an API server in this process, which ends afterwards. The caller may be in a runtime, as an async test is, and a thread has
/// at most one: so `ask` runs on a thread of its own.
///
/// # Errors
/// Those of `ask`, and that of a server that does not start.
pub(super) fn on_sandbox<T: Send>(
    ask: impl AsyncFnOnce(&Sandbox, &Client) -> Result<T, OperatorError> + Send,
) -> Result<T, OperatorError> {
    let asked = std::thread::scope(|scope| scope.spawn(|| in_own_runtime(ask)).join());
    asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn in_own_runtime<T>(
    ask: impl AsyncFnOnce(&Sandbox, &Client) -> Result<T, OperatorError>,
) -> Result<T, OperatorError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let sandbox = Sandbox::builder().build();
        let sandbox = sandbox.map_err(|error| OperatorError::Sandbox {
            port: 0,
            reason: error.to_string(),
        })?;
        let pipes = sandbox.clone();
        let client = Client::builder(Config::new(http::Uri::from_static("http://sandbox")))
            .connector(Arc::new(move || Ok(pipes.connect())))
            .build()?;
        let answer = ask(&sandbox, &client).await;
        sandbox.shutdown().await;
        answer
    })
}
