use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::{
    cache::{Event, EventStream, ListenerOptions, Lister, SharedInformer, Subscription},
    resource::Object,
};

/// A listener that writes down what it hears, and checks it.
pub(super) struct Heard {
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

impl Heard {
    pub(super) fn at(informer: &SharedInformer<ConfigMap>) -> Self {
        Self::with(informer, ListenerOptions::new())
    }

    pub(super) fn with(informer: &SharedInformer<ConfigMap>, options: ListenerOptions) -> Self {
        let notes = Arc::<Mutex<Notes>>::default();
        let (own, lister) = (notes.clone(), informer.lister());
        let take = move |event: &_| own.lock().unwrap().take(event, &lister);
        let subscription = informer.add_listener_with(options, take);
        Self {
            notes,
            subscription,
        }
    }

    /// What was heard since the last call.
    pub(super) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap().lines)
    }

    pub(super) fn folded(&self) -> BTreeMap<String, String> {
        self.notes.lock().unwrap().folded.clone()
    }

    /// What no listener may ever see.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.notes.lock().unwrap().wrong.clone()
    }
}

/// The same for a stream, which is read only when it is told to.
pub(super) struct Taken {
    pub(super) stream: EventStream<ConfigMap>,
    notes: Notes,
    lister: Lister<ConfigMap>,
}

impl Taken {
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

    /// Takes what is there, at most `count` events; gives them.
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
        let (known, was_bad) = (before.is_some(), before.is_some_and(|v| v.starts_with('!')));
        let (line, version) = match event {
            Event::Added { object, initial } => {
                self.check(!known || was_bad, "added twice", &name);
                let word = if *initial { "initial" } else { "added" };
                (word, Some(version(object)))
            }
            Event::Updated { old, new } => {
                self.check(known, "updated, but unknown", &name);
                self.check(old.uid() == new.uid(), "updated to another object", &name);
                ("updated", Some(version(new)))
            }
            Event::Recreated { old, new } => {
                self.check(known, "recreated, but unknown", &name);
                self.check(old.uid() != new.uid(), "recreated as itself", &name);
                ("recreated", Some(version(new)))
            }
            Event::Deleted {
                final_state_known: true,
                ..
            } => ("deleted", None),
            Event::Deleted { .. } => ("vanished", None),
            Event::Undecodable { object, .. } => {
                let version = object.resource_version.clone().unwrap();
                ("undecodable", Some(format!("!{version}")))
            }
            Event::UndecodableDeleted { .. } => ("undecodable deleted", None),
            Event::Resync { object } => {
                let told = before.is_some_and(|before| *before == version(object));
                self.check(told, "told again as it was not", &name);
                return self.lines.push(format!("resync {name}"));
            }
        };
        if let Some(version) = &version {
            let before = self.folded.get(&name).map_or(0, |version| number(version));
            self.check(before < number(version), "went backwards", &name);
            // Writing comes before telling: the store may only be ahead.
            let snapshot = lister.snapshot();
            if let Some(entry) = snapshot.entry(&event.key()) {
                let stored = number(entry.resource_version().unwrap());
                self.check(
                    stored >= number(version),
                    "told before it was stored",
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

fn version(object: &ConfigMap) -> String {
    object.resource_version().unwrap().to_owned()
}

fn number(version: &str) -> u64 {
    version.trim_start_matches('!').parse().unwrap()
}
