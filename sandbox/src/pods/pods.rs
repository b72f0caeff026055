use std::sync::Arc;

use tokio::io::DuplexStream;

use super::{Invocation, Source};
use crate::api::meta;
use crate::core::Core;
use crate::registry::GroupResource;
use crate::store::Key;

/// What runs in the containers of simulated Pods.
///
/// ```
/// # use pilothouse_sandbox::Sandbox;
/// # use tokio::io::AsyncWriteExt;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sandbox = Sandbox::builder().simulator(true).build()?;
/// // From now on `kubectl exec <pod> -- hostname` answers.
/// sandbox.pods().program("hostname", |mut called| async move {
///     let name = format!("{}\n", called.pod);
///     i32::from(called.stdout.write_all(name.as_bytes()).await.is_err())
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Pods<'a>(&'a Arc<Core>);

impl<'a> Pods<'a> {
    pub(crate) fn new(core: &'a Arc<Core>) -> Self {
        Self(core)
    }

    /// Lets `name` be executed in every container, with or without a path before it as it is given here. The function's value
    /// is the exit code. It replaces one registered before.
    pub fn program<F, R>(&self, name: impl Into<String>, program: F)
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        let program = Arc::new(move |called| Box::pin(program(called)) as _);
        self.0.containers.add_program(name.into(), program);
    }

    /// What a container's own process does for those who attach; without it they see what is written to the log meanwhile,
    /// and what they write is thrown away.
    pub fn main<F, R>(&self, program: F)
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        let program = Arc::new(move |called| Box::pin(program(called)) as _);
        self.0.containers.set_main(program);
    }

    /// Lets every Pod listen on `port`: each forwarded connection is given to the function, and ends with it. Where nothing
    /// listens, connections are refused.
    pub fn port<F, R>(&self, port: u16, server: F)
    where
        F: Fn(DuplexStream) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let server = Arc::new(move |stream| Box::pin(server(stream)) as _);
        self.0.containers.add_port(port, server);
    }

    /// Writes lines to the standard output of a container. Tells whether the Pod exists.
    pub fn write_stdout(&self, namespace: &str, pod: &str, container: &str, text: &str) -> bool {
        self.write(namespace, pod, container, Source::Stdout, text)
    }

    /// Writes lines to the standard error of a container. Tells whether the Pod exists.
    pub fn write_stderr(&self, namespace: &str, pod: &str, container: &str, text: &str) -> bool {
        self.write(namespace, pod, container, Source::Stderr, text)
    }

    fn write(&self, namespace: &str, pod: &str, container: &str, to: Source, text: &str) -> bool {
        let key = Key::new(Some(namespace), pod);
        let Some(entry) = self.0.store.get(&GroupResource::new("", "pods"), &key) else {
            return false;
        };
        let (log, _) = self.0.containers.log(meta::uid(&entry.object), container);
        log.write(self.0.clock.now(), to, text);
        true
    }
}
