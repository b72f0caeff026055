use tokio::task::{AbortHandle, JoinHandle};

use crate::controller::{ControllerStatus, KeyActivity};

/// The tasks of an operator's work, by name: its controllers and the user's runnables.
#[derive(Debug, Default)]
pub(super) struct WorkTasks(Vec<WorkTask>);

#[derive(Debug)]
struct WorkTask {
    name: String,
    /// The status of a controller.
    controller: Option<ControllerStatus>,
    task: AbortHandle,
}

/// The number of objects that are named for each controller.
const NAMED: usize = 3;

impl WorkTasks {
    pub(super) fn add(
        &mut self,
        name: String,
        controller: Option<ControllerStatus>,
        task: &JoinHandle<()>,
    ) {
        self.0.push(WorkTask {
            name,
            controller,
            task: task.abort_handle(),
        });
    }

    /// The tasks that have not ended, and the objects that the controllers among them reconcile.
    pub(super) fn unfinished(&self) -> String {
        let running = self.0.iter().filter(|one| !one.task.is_finished());
        let texts: Vec<String> = running.map(WorkTask::describe).collect();
        texts.join("; ")
    }
}

impl WorkTask {
    fn describe(&self) -> String {
        let report = self.controller.as_ref().and_then(|one| one.report(NAMED));
        let Some(report) = report else {
            return self.name.clone();
        };
        let keys = report.keys.iter().filter(|key| {
            matches!(
                key.state,
                KeyActivity::Running | KeyActivity::RunningAndDirty
            )
        });
        let mut keys: Vec<&str> = keys.map(|key| &*key.key).take(NAMED).collect();
        let more = report.running.saturating_sub(keys.len());
        let more = format!("{more} more");
        if report.running > keys.len() {
            keys.push(&more);
        }
        match keys.is_empty() {
            true => self.name.clone(),
            false => format!("{} with {}", self.name, keys.join(", ")),
        }
    }
}
