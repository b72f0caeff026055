use std::{collections::BTreeMap, sync::Arc};

use futures_util::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use crate::cache::{
    Entry, Event, EventStream, ListenerOptions, Lister, SharedInformer, Subscription,
};

/// A listener that records and checks what it receives.
pub(super) struct RecordingListener {
    notes: Arc<Mutex<Notes>>,
    pub(super) subscription: Subscription,
}

#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    /// The versions that follow from the events alone.
    folded: BTreeMap<String, String>,
    wrong: Vec<String>,
}

impl RecordingListener {
    pub(super) fn at(informer: &SharedInformer<ConfigMap>) -> Self {
        Self::with(informer, ListenerOptions::new())
    }

    pub(super) fn with(informer: &SharedInformer<ConfigMap>, options: ListenerOptions) -> Self {
        let notes = Arc::<Mutex<Notes>>::default();
        let (own, lister) = (notes.clone(), informer.lister());
        let take = move |event: &_| own.lock().take(event, &lister);
        let subscription = informer.add_listener_with(options, take);
        Self {
            notes,
            subscription,
        }
    }

    /// What was received since the last call.
    pub(super) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().lines)
    }

    pub(super) fn folded(&self) -> BTreeMap<String, String> {
        self.notes.lock().folded.clone()
    }

    /// What no listener may ever receive.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.notes.lock().wrong.clone()
    }
}

/// The same for a stream, which is read only when the test says so.
pub(super) struct RecordingStream {
    pub(super) stream: EventStream<ConfigMap>,
    notes: Notes,
    lister: Lister<ConfigMap>,
}

impl RecordingStream {
    pub(super) fn at(informer: &SharedInformer<ConfigMap>) -> Self {
        Self::with(informer, ListenerOptions::new())
    }

    pub(super) fn with(informer: &SharedInformer<ConfigMap>, options: ListenerOptions) -> Self {
        Self {
            stream: informer.stream_with(options),
            notes: Notes::default(),
            lister: informer.lister(),
        }
    }

    /// Reads at most `count` events, if there are any, and returns them.
    pub(super) fn take(&mut self, count: usize) -> Vec<String> {
        for _ in 0..count {
            let Some(Some(event)) = self.stream.next().now_or_never() else {
                break;
            };
            self.notes.take(&event, &self.lister);
        }
        std::mem::take(&mut self.notes.lines)
    }

    pub(super) fn folded(&self) -> &BTreeMap<String, String> {
        &self.notes.folded
    }

    pub(super) fn wrong(&self) -> &[String] {
        &self.notes.wrong
    }
}

impl Notes {
    fn take(&mut self, event: &Event<ConfigMap>, lister: &Lister<ConfigMap>) {
        let name = event.key().name().to_owned();
        let before = self.folded.get(&name);
        let known = before.is_some();
        let is_bad = event.entry().undecodable().is_some();
        let (line, version) = match event {
            Event::Added { object, initial } => {
                self.check(!known, "added twice", &name);
                let word = match is_bad {
                    true => "undecodable",
                    false if *initial => "initial",
                    false => "added",
                };
                (word, Some(version(object)))
            }
            Event::Updated { old, new } => {
                self.check(known, "updated, but unknown", &name);
                self.check(old.uid() == new.uid(), "updated to another object", &name);
                let word = if is_bad { "undecodable" } else { "updated" };
                (word, Some(version(new)))
            }
            Event::Recreated { old, new } => {
                self.check(known, "recreated, but unknown", &name);
                self.check(old.uid() != new.uid(), "recreated as itself", &name);
                let word = if is_bad {
                    "recreated undecodable"
                } else {
                    "recreated"
                };
                (word, Some(version(new)))
            }
            Event::Deleted {
                final_state_known: true,
                ..
            } => ("deleted", None),
            Event::Deleted { object, .. } if object.last_object().is_none() => {
                ("undecodable deleted", None)
            }
            Event::Deleted { .. } => ("vanished", None),
            Event::Resync { object } => {
                let told = before.is_some_and(|before| *before == version(object));
                self.check(told, "delivered again with another content", &name);
                return self.lines.push(format!("resync {name}"));
            }
        };
        if let Some(version) = &version {
            let before = self.folded.get(&name).map_or(0, |version| number(version));
            self.check(before < number(version), "went backwards", &name);
            // The store is written before the event is delivered: the store may only be newer.
            let snapshot = lister.snapshot();
            if let Some(entry) = snapshot.entry(&event.key()) {
                let stored = number(entry.resource_version().unwrap());
                self.check(
                    stored >= number(version),
                    "delivered before it was stored",
                    &name,
                );
            }
        }
        self.lines.push(format!("{line} {name}"));
        match version {
            Some(version) => self.folded.insert(name, version),
            None => self.folded.remove(&name),
        };
    }

    fn check(&mut self, right: bool, wrong: &str, name: &str) {
        if !right {
            self.wrong.push(format!("{name} {wrong}"));
        }
    }
}

/// The version, with a mark if it does not decode.
fn version(object: &Entry<ConfigMap>) -> String {
    let mark = if object.undecodable().is_some() {
        "!"
    } else {
        ""
    };
    format!("{mark}{}", object.resource_version().unwrap())
}

fn number(version: &str) -> u64 {
    version.trim_start_matches('!').parse().unwrap()
}
