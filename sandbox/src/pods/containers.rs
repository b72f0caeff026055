use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::DuplexStream;

use super::rules::Rules;
use super::{ContainerLog, Invocation};

pub(crate) type Program = Arc<dyn Fn(Invocation) -> BoxFuture<'static, i32> + Send + Sync>;
pub(crate) type Port = Arc<dyn Fn(DuplexStream) -> BoxFuture<'static, ()> + Send + Sync>;

/// The programs of a sandbox, the logs of its containers, and the rules for them.
#[derive(Default)]
pub(crate) struct Containers {
    state: Mutex<State>,
    pub(crate) rules: Rules,
}

#[derive(Default)]
struct State {
    programs: BTreeMap<String, Program>,
    main: Option<Program>,
    ports: BTreeMap<u16, Port>,
    /// By the Pod's UID and the container's name. An entry lives as long as the Pod.
    logs: BTreeMap<(String, String), Arc<ContainerLog>>,
}

impl Containers {
    pub(super) fn add_program(&self, name: String, program: Program) {
        self.state.lock().programs.insert(name, program);
    }

    pub(super) fn set_main(&self, program: Program) {
        self.state.lock().main = Some(program);
    }

    pub(super) fn add_port(&self, port: u16, server: Port) {
        self.state.lock().ports.insert(port, server);
    }

    pub(crate) fn program(&self, name: &str) -> Option<Program> {
        self.state.lock().programs.get(name).cloned()
    }

    pub(crate) fn main(&self) -> Option<Program> {
        self.state.lock().main.clone()
    }

    pub(crate) fn port(&self, port: u16) -> Option<Port> {
        self.state.lock().ports.get(&port).cloned()
    }

    /// The log of a container, and whether this call created it.
    pub(crate) fn log(&self, uid: &str, container: &str) -> (Arc<ContainerLog>, bool) {
        let mut state = self.state.lock();
        let key = (uid.to_owned(), container.to_owned());
        let mut new = false;
        let log = state.logs.entry(key).or_insert_with(|| {
            new = true;
            Arc::new(ContainerLog::new())
        });
        (log.clone(), new)
    }

    /// Removes the logs of a deleted Pod.
    pub(crate) fn forget(&self, uid: &str) {
        self.state.lock().logs.retain(|(of, _), log| {
            let goes = of == uid;
            if goes {
                log.end();
            }
            !goes
        });
    }
}

impl fmt::Debug for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let names: Vec<_> = state.programs.keys().collect();
        f.debug_struct("Containers")
            .field("programs", &names)
            .finish_non_exhaustive()
    }
}
