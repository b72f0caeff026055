use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
    logs: BTreeMap<(String, String), Logs>,
}

/// The logs of a container: a node keeps that of the last run, and that of the run before.
struct Logs {
    last: Arc<ContainerLog>,
    before: Option<Arc<ContainerLog>>,
}

impl Logs {
    fn new() -> Self {
        Self {
            last: Arc::new(ContainerLog::new()),
            before: None,
        }
    }
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

    /// The log of the last run of a container.
    pub(crate) fn log(&self, uid: &str, container: &str) -> Arc<ContainerLog> {
        let mut state = self.state.lock();
        let logs = state.logs.entry((uid.to_owned(), container.to_owned()));
        logs.or_insert_with(Logs::new).last.clone()
    }

    /// The log of the run before the last one.
    pub(crate) fn log_before(&self, uid: &str, container: &str) -> Option<Arc<ContainerLog>> {
        let state = self.state.lock();
        let logs = state.logs.get(&(uid.to_owned(), container.to_owned()))?;
        logs.before.clone()
    }

    /// A container runs: the log of this run, if it is new.
    pub(crate) fn begin_run(&self, uid: &str, container: &str) -> Option<Arc<ContainerLog>> {
        let mut state = self.state.lock();
        match state.logs.entry((uid.to_owned(), container.to_owned())) {
            Entry::Vacant(logs) => Some(logs.insert(Logs::new()).last.clone()),
            Entry::Occupied(logs) => {
                let logs = logs.into_mut();
                if !logs.last.has_ended() {
                    return None;
                }
                let last = std::mem::replace(&mut logs.last, Arc::new(ContainerLog::new()));
                logs.before = Some(last);
                Some(logs.last.clone())
            }
        }
    }

    /// Removes the logs of a deleted Pod.
    pub(crate) fn forget(&self, uid: &str) {
        self.state.lock().logs.retain(|(of, _), logs| {
            let goes = of == uid;
            if goes {
                logs.last.end();
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
