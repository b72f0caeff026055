//! Removes Events an hour after they were written last, as the storage of a real server does.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::feed::{Feed, FeedEvent};
use crate::api::{DeleteOptions, Handle};
use crate::clock::Moment;
use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;

/// How long an Event is kept: the default of kube-apiserver's flag `--event-ttl`.
const KEPT: Duration = Duration::from_secs(3600);

/// Namespace and name of an Event.
type Name = (String, String);

/// When each Event is due.
#[derive(Default)]
struct Plan {
    of: BTreeMap<Name, Moment>,
    due: BTreeSet<(Moment, Name)>,
}

impl Plan {
    fn set(&mut self, name: Name, due: Moment) {
        self.forget(&name);
        self.due.insert((due, name.clone()));
        self.of.insert(name, due);
    }

    fn forget(&mut self, name: &Name) {
        if let Some(due) = self.of.remove(name) {
            self.due.remove(&(due, name.clone()));
        }
    }

    /// Takes the Events that are due.
    fn take(&mut self, now: Moment) -> Vec<Name> {
        let mut taken = Vec::new();
        while let Some((due, _)) = self.due.first()
            && *due <= now
            && let Some((_, name)) = self.due.pop_first()
        {
            self.of.remove(&name);
            taken.push(name);
        }
        taken
    }
}

/// Removes Events that are due, until the sandbox ends.
pub(crate) async fn expire(core: Arc<Core>) {
    let handle = Handle::new(&core, "kube-apiserver");
    let events = GroupResource::new("", "events");
    let mut feed = Feed::new(&handle, Some(vec![events.clone()]));
    let mut plan = Plan::default();
    // Those that are there already come first: from the data folder.
    let mut is_first = true;
    loop {
        let next = plan.due.first().map(|(due, _)| *due);
        let wake = async {
            match next {
                Some(due) => core.clock.sleep_until(due).await,
                None => pending().await,
            }
        };
        // Both branches may be cancelled: the feed loses nothing, and the plan stays.
        tokio::select! {
            biased;
            changes = feed.next() => {
                for change in changes {
                    follow(&core, &mut plan, change, is_first);
                }
                is_first = false;
            }
            () = wake => for (namespace, name) in plan.take(core.clock.moment()) {
                // An error means that it is gone already.
                let _ = handle.delete(&events, Some(&namespace), &name, &DeleteOptions::default());
            },
        }
    }
}

fn follow(core: &Core, plan: &mut Plan, change: FeedEvent, is_first: bool) {
    let name = |event: &Value| {
        let namespace = meta::text(event, "namespace");
        (namespace.to_owned(), meta::name(event).to_owned())
    };
    match change {
        FeedEvent::Put { object, .. } => {
            let event = object.value();
            let age = match is_first {
                true => age(core, &event),
                false => Duration::ZERO,
            };
            let rest = KEPT.saturating_sub(age);
            plan.set(name(&event), core.clock.moment().saturating_add(rest));
        }
        FeedEvent::Gone { object, .. } => plan.forget(&name(&object.value())),
        FeedEvent::Kinds => {}
    }
}

/// How long ago an Event was written last, as its metadata tells.
fn age(core: &Core, event: &Value) -> Duration {
    let metadata = &event["metadata"];
    let managers = metadata["managedFields"].as_array().into_iter().flatten();
    let times = managers.map(|entry| &entry["time"]);
    let times = times.chain([&metadata["creationTimestamp"]]);
    let times = times.filter_map(|time| time.as_str()?.parse::<Timestamp>().ok());
    let age = times
        .max()
        .map(|time| core.clock.now().duration_since(time));
    age.and_then(|age| age.try_into().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Sandbox;
    use crate::store::Encoded;

    fn handle(sandbox: &Sandbox) -> Handle {
        Handle::new(sandbox.core(), "somebody")
    }

    fn create(sandbox: &Sandbox, name: &str) {
        let event = json!({
            "metadata": {"name": name, "namespace": "default"}, "reason": "Tried", "type": "Normal",
            "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
            "lastTimestamp": "2001-01-01T00:00:00Z",
        });
        let created = handle(sandbox).create(&GroupResource::new("", "events"), event);
        created.unwrap();
    }

    fn names(sandbox: &Sandbox) -> Vec<String> {
        let all = handle(sandbox).list(&GroupResource::new("", "events"), None);
        all.iter()
            .map(|event| meta::name(event).to_owned())
            .collect()
    }

    async fn pass(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_of_anybody_is_gone_an_hour_after_its_last_write() {
        let sandbox = Sandbox::builder()
            .seed(1)
            .controllers(false)
            .build()
            .unwrap();
        create(&sandbox, "a");
        create(&sandbox, "b");
        pass(3000).await;
        let events = GroupResource::new("", "events");
        let again = handle(&sandbox).update(&events, Some("default"), "b", "", |event| {
            event["count"] = json!(2);
        });
        again.unwrap();
        pass(599).await;
        assert_eq!(names(&sandbox), ["a", "b"]);
        pass(2).await;
        assert_eq!(names(&sandbox), ["b"]);
        pass(3000).await;
        assert!(names(&sandbox).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_the_sandbox_decides() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        create(&sandbox, "a");
        pass(1).await;
        sandbox.advance_clock(Duration::from_secs(3500));
        pass(1).await;
        assert_eq!(names(&sandbox), ["a"]);
        sandbox.advance_clock(Duration::from_secs(100));
        pass(1).await;
        assert!(names(&sandbox).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_of_the_data_folder_is_as_old_as_its_last_write() {
        let epoch: std::time::SystemTime =
            "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap().into();
        let sandbox = Sandbox::builder().epoch(epoch).build().unwrap();
        let core = sandbox.core();
        let event = json!({"metadata": {
            "name": "a", "namespace": "default", "creationTimestamp": "2025-12-31T23:00:00Z",
            "managedFields": [{"time": "2025-12-31T23:50:00Z"}, {"time": "2025-12-31T23:20:00Z"}],
        }});
        let rest = |is_first: bool| {
            let mut plan = Plan::default();
            let change = FeedEvent::Put {
                resource: GroupResource::new("", "events"),
                object: Arc::new(Encoded::new(1, &Arc::new(event.clone()))),
            };
            follow(core, &mut plan, change, is_first);
            let (due, _) = plan.due.first().unwrap();
            due.saturating_sub(core.clock.moment()).as_secs()
        };
        assert_eq!(rest(true), 3000);
        assert_eq!(rest(false), 3600);
    }
}
