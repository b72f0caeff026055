use std::sync::Arc;

use tokio::io::DuplexStream;

use super::{Containers, Invocation, LogStream, PodRule, node_number};
use crate::clock::Clock;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::{Key, Store};

/// Defines what the containers of simulated Pods do: [rules](Self::of) for their life, and [programs](Self::program), ports and
/// logs.
///
/// ```
/// # use pilothouse_sandbox::Sandbox;
/// # use tokio::io::AsyncWriteExt;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sandbox = Sandbox::builder().simulator(true).build()?;
/// // From now on `kubectl exec <pod> -- hostname` prints the Pod's name.
/// sandbox.pods().program("hostname", |mut call| async move {
///     let name = format!("{}\n", call.pod);
///     i32::from(call.stdout.write_all(name.as_bytes()).await.is_err())
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Pods<'a> {
    clock: &'a Clock,
    store: &'a Store,
    containers: &'a Containers,
}

impl<'a> Pods<'a> {
    pub(crate) fn new(clock: &'a Clock, store: &'a Store, containers: &'a Containers) -> Self {
        Self {
            clock,
            store,
            containers,
        }
    }

    /// Selects the Pods of a workload for a rule: every Pod with an owner of this name, such as a Deployment, a Job or a custom
    /// resource, directly or over other owners; and a Pod of this name.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use pilothouse_sandbox::Sandbox;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sandbox = Sandbox::builder().simulator(true).build()?;
    /// // The first two Pods of the Job `backup` fail after a minute, the third one succeeds.
    /// sandbox.pods().of("backup").times(2).fail_after(Duration::from_secs(60));
    /// # Ok(())
    /// # }
    /// ```
    pub fn of(&self, workload: impl Into<String>) -> PodRule<'a> {
        PodRule::new(&self.containers.rules, self.clock, Some(workload.into()))
    }

    /// Selects every Pod for a rule.
    pub fn all(&self) -> PodRule<'a> {
        PodRule::new(&self.containers.rules, self.clock, None)
    }

    /// Stops a node of the simulator, as if its machine were cut off: its Pods stay as they are, and nobody starts or ends containers
    /// there. What follows is what the controllers of a cluster do: after 50 s the node is no longer ready and its Pods are
    /// marked as not ready, and after 5 min more, or as long as they tolerate it, they are deleted. Their objects stay until the
    /// node is back. Returns whether the node exists.
    pub fn stop_node(&self, name: &str) -> bool {
        let exists = self.has_node(name);
        if exists {
            self.containers.rules.stop_node(name, self.clock.moment());
        }
        exists
    }

    /// Starts a node that has stopped. Returns whether the node exists.
    pub fn start_node(&self, name: &str) -> bool {
        self.containers.rules.start_node(name);
        self.has_node(name)
    }

    fn has_node(&self, name: &str) -> bool {
        let nodes = GroupResource::new("", "nodes");
        let found = self.store.get(&nodes, &Key::new(None, name));
        node_number(name).is_some() && found.is_some()
    }

    /// Registers a program that every container can execute. The client must call it exactly by `name`, which may
    /// contain a path. The function returns the exit code. As on Linux, a client sees only its lowest byte. A second registration of a
    /// name replaces the first.
    pub fn program<F, R>(&self, name: impl Into<String>, program: F)
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        let program = Arc::new(move |called| Box::pin(program(called)) as _);
        self.containers.add_program(name.into(), program);
    }

    /// Registers the container's own process, which clients attach to. Without it, clients that attach see what is
    /// written to the log meanwhile, and their input is discarded.
    pub fn main<F, R>(&self, program: F)
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        let program = Arc::new(move |called| Box::pin(program(called)) as _);
        self.containers.set_main(program);
    }

    /// Lets every Pod listen on `port`. The function gets each connection, of `kubectl port-forward` and of the subresource `proxy` of
    /// Pods and Services, and the connection ends with the function. Connections to other ports are refused.
    pub fn port<F, R>(&self, port: u16, server: F)
    where
        F: Fn(DuplexStream) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let server = Arc::new(move |stream| Box::pin(server(stream)) as _);
        self.containers.add_port(port, server);
    }

    /// Writes lines to the standard output of a container. Returns whether the Pod exists.
    pub fn write_stdout(&self, namespace: &str, pod: &str, container: &str, text: &str) -> bool {
        self.write(namespace, pod, container, LogStream::Stdout, text)
    }

    /// Writes lines to the standard error of a container. Returns whether the Pod exists.
    pub fn write_stderr(&self, namespace: &str, pod: &str, container: &str, text: &str) -> bool {
        self.write(namespace, pod, container, LogStream::Stderr, text)
    }

    fn write(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        to: LogStream,
        text: &str,
    ) -> bool {
        let key = Key::new(Some(namespace), pod);
        let Some(entry) = self.store.get(&GroupResource::new("", "pods"), &key) else {
            return false;
        };
        let log = self.containers.log(meta::uid(&entry.object), container);
        log.write(self.clock.now(), to, text);
        true
    }
}
