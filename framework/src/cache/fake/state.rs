//! The history of a server for tests, and how it answers lists and watches.

use std::{collections::VecDeque, time::Duration};

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use rpds::RedBlackTreeMapSync;
use tokio::{sync::mpsc, time::sleep};

use super::{
    Answer, ListHabit, StreamFault, Streaming, WatchHabit,
    errors::{expired, status},
    objects::object,
};
use crate::{
    client::{
        Change, Error, ListParams, ObjectList, Reachability, WatchEvent, WatchParams, WatchStream,
    },
    resource::{ObjectKey, Undecodable},
};

/// An object of the server.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Good(ConfigMap),
    Bad(Undecodable),
}

type Message = Result<WatchEvent<ConfigMap>, Error>;

#[derive(Default)]
pub(super) struct State {
    pub(super) version: u64,
    pub(super) next_uid: u64,
    pub(super) objects: RedBlackTreeMapSync<ObjectKey, Stored>,
    pub(super) history: Vec<(u64, Stored, Change)>,
    pub(super) forgotten: u64,
    pub(super) watchers: Vec<mpsc::UnboundedSender<Option<Message>>>,
    pub(super) requests: Vec<String>,
    pub(super) lists: VecDeque<Answer>,
    pub(super) watch_errors: VecDeque<Error>,
    pub(super) pages: Vec<(u64, Vec<Stored>)>,
    /// Set if there is no watch cache: lists are paged, and no page is larger than this.
    pub(super) largest_page: Option<usize>,
    pub(super) expires_in_stream: bool,
    pub(super) ignores_timeouts: bool,
    /// All states, with their versions.
    pub(super) past: Vec<(u64, RedBlackTreeMapSync<ObjectKey, Stored>)>,
    /// How many of the next lists are answered with the oldest state that is allowed.
    pub(super) stale: usize,
    /// How many of the next events are recorded and not sent.
    pub(super) lost: usize,
    pub(super) streaming: Streaming,
    /// The source says that it has a list, which costs nothing.
    pub(super) has_list: bool,
    pub(super) stream_faults: VecDeque<StreamFault>,
    /// How every list behaves.
    pub(super) list_habit: Option<ListHabit>,
    /// How every watch behaves that continues from a version.
    pub(super) watch_habit: Option<WatchHabit>,
    pub(super) reachability: Reachability,
}

/// A client sends this many requests only by mistake. After that the server does not answer any more, so that a test
/// does not run forever.
pub(super) const TOO_MUCH: usize = 20_000;

impl State {
    pub(super) fn record(&mut self, version: u64, stored: Stored, change: Change) {
        self.history.push((version, stored.clone(), change));
        self.past.push((version, self.objects.clone()));
        if self.lost > 0 {
            self.lost -= 1;
            return;
        }
        self.send(&|| event(&stored, change));
    }

    pub(super) fn send(&mut self, event: &dyn Fn() -> WatchEvent<ConfigMap>) {
        self.watchers
            .retain(|watcher| watcher.send(Some(Ok(event()))).is_ok());
    }

    pub(super) fn list(&mut self, params: &ListParams) -> Result<ObjectList<ConfigMap>, Error> {
        let (page, offset) = match &params.continue_token {
            Some(token) => {
                let mut numbers = token.split(':').map(|number| number.parse().unwrap());
                (numbers.next().unwrap(), numbers.next().unwrap())
            }
            None => {
                let state = self.state_at(params.resource_version.as_deref(), 0)?;
                self.pages.push(state);
                (self.pages.len() - 1, 0)
            }
        };
        let Some((version, objects)) = self.pages.get(page) else {
            return Err(expired());
        };
        // A watch cache answers from memory, and then with all objects at once.
        let from_memory = params.resource_version.is_some() && self.largest_page.is_none();
        let limit = params.limit.filter(|_| !from_memory);
        let largest = self.largest_page.unwrap_or(usize::MAX);
        let end = limit.map_or(objects.len(), |limit| {
            objects.len().min(offset + largest.min(limit as usize))
        });
        let mut list = ObjectList::default();
        list.metadata.resource_version = Some(version.to_string());
        list.metadata.continue_ = (end < objects.len()).then(|| format!("{page}:{end}"));
        for stored in &objects[offset..end] {
            match stored {
                Stored::Good(object) => list.items.push(object.clone()),
                Stored::Bad(object) => list.undecodable.push(object.clone()),
            }
        }
        let number = self.requests.len();
        list.metadata.continue_ = match self.list_habit {
            None => list.metadata.continue_,
            Some(ListHabit::SameToken) => Some(format!("{page}:0")),
            Some(ListHabit::SameObject) => Some(format!("{page}:0:{number}")),
            Some(ListHabit::ForgetsLaterPages) => Some("1000000:0".into()),
        };
        Ok(list)
    }

    /// The newest state, or any that is not older than `version` and `oldest`.
    fn state_at(
        &mut self,
        version: Option<&str>,
        oldest: u64,
    ) -> Result<(u64, Vec<Stored>), Error> {
        let least: u64 = version.unwrap_or("0").parse().unwrap();
        if least > self.version {
            let text = format!("Too large resource version: {least}");
            return Err(status(504, "Timeout", &text));
        }
        let mut past = self.past.iter();
        if let (1.., Some(_)) = (self.stale, version)
            && let Some((version, objects)) =
                past.find(|(version, _)| *version >= least.max(oldest))
        {
            self.stale -= 1;
            return Ok((*version, objects.values().cloned().collect()));
        }
        Ok((self.version, self.objects.values().cloned().collect()))
    }

    /// Sends the present state at the beginning of a watch. Returns its version, and whether anything follows it.
    fn begin_with_state(
        &mut self,
        params: &WatchParams,
        sender: &mpsc::UnboundedSender<Option<Message>>,
    ) -> Result<(u64, bool), Error> {
        // The changes since that state follow it, so they must still be in the history.
        let (version, objects) =
            self.state_at(params.resource_version.as_deref(), self.forgotten)?;
        if let (Some(StreamFault::Repeats), Some(first)) =
            (self.stream_faults.front(), objects.first())
        {
            for _ in 0..TOO_MUCH {
                let _ = sender.send(Some(Ok(event(first, Change::Added))));
            }
        }
        let fault = self.stream_faults.pop_front();
        let ignored = matches!(self.streaming, Streaming::Ignored);
        let (objects, end) = match &fault {
            Some(StreamFault::Closes(after)) => (&objects[..objects.len().min(*after)], None),
            Some(StreamFault::Fails(after, error)) => {
                let end = Some(Some(Err(error())));
                (&objects[..objects.len().min(*after)], end)
            }
            Some(StreamFault::Mute(after)) => (&objects[..objects.len().min(*after)], Some(None)),
            Some(StreamFault::Unmarked | StreamFault::Repeats) | None => (&*objects, None),
        };
        for stored in objects {
            let _ = sender.send(Some(Ok(event(stored, Change::Added))));
        }
        if let Some(end) = end {
            let _ = sender.send(end);
        }
        if fault.is_none() && !ignored {
            let _ = sender.send(Some(Ok(WatchEvent::Bookmark {
                resource_version: version.to_string(),
                initial_events_end: true,
            })));
        }
        Ok((
            version,
            matches!(
                fault,
                None | Some(StreamFault::Unmarked | StreamFault::Repeats)
            ),
        ))
    }

    pub(super) fn watch(&mut self, params: &WatchParams) -> Result<WatchStream<ConfigMap>, Error> {
        if let Some(error) = self.watch_errors.pop_front() {
            return Err(error);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        if params.send_initial_events {
            if let Streaming::Refused(error) = self.streaming {
                return Err(error());
            }
            let (version, goes_on) = self.begin_with_state(params, &sender)?;
            if goes_on {
                self.follow_from(version, sender);
            }
            return Ok(self.stream(params, receiver));
        }
        let version = params.resource_version.as_deref().unwrap_or("0");
        let version: u64 = version.parse().unwrap();
        if let Some(habit) = self.watch_habit {
            match habit {
                WatchHabit::Bookmark => {
                    let _ = sender.send(Some(Ok(WatchEvent::Bookmark {
                        resource_version: self.version.to_string(),
                        initial_events_end: false,
                    })));
                }
                WatchHabit::Change => {
                    self.version += 1;
                    let object = object("default", "changing", "uid", self.version, &[]);
                    let (key, stored) = (
                        ObjectKey::namespaced("default", "changing"),
                        Stored::Good(object),
                    );
                    self.objects.insert_mut(key, stored.clone());
                    let _ = sender.send(Some(Ok(event(&stored, Change::Modified))));
                }
                WatchHabit::Expired => return Err(expired()),
                WatchHabit::Repeats => {
                    let (_, stored, change) = self.history.last().unwrap();
                    for _ in 0..TOO_MUCH {
                        let _ = sender.send(Some(Ok(event(stored, *change))));
                    }
                    self.watchers.push(sender);
                }
            }
            return Ok(self.stream(params, receiver));
        }
        if version < self.forgotten {
            if !self.expires_in_stream {
                return Err(expired());
            }
            let _ = sender.send(Some(Err(expired())));
        } else {
            self.follow_from(version, sender);
        }
        Ok(self.stream(params, receiver))
    }

    fn follow_from(&mut self, version: u64, sender: mpsc::UnboundedSender<Option<Message>>) {
        for (at, stored, change) in &self.history {
            if *at > version {
                let _ = sender.send(Some(Ok(event(stored, *change))));
            }
        }
        self.watchers.push(sender);
    }

    fn stream(
        &self,
        params: &WatchParams,
        receiver: mpsc::UnboundedReceiver<Option<Message>>,
    ) -> WatchStream<ConfigMap> {
        let messages = stream::unfold(receiver, |mut receiver| async move {
            match receiver.recv().await? {
                Some(message) => Some((message, receiver)),
                None => std::future::pending().await,
            }
        });
        let time = params.timeout.filter(|_| !self.ignores_timeouts);
        let end = sleep(time.unwrap_or(Duration::from_secs(1_000_000)));
        WatchStream::new(messages.take_until(end))
    }
}

pub(super) fn event(stored: &Stored, change: Change) -> WatchEvent<ConfigMap> {
    match (stored.clone(), change) {
        (Stored::Good(object), Change::Added) => WatchEvent::Added(object),
        (Stored::Good(object), Change::Modified) => WatchEvent::Modified(object),
        (Stored::Good(object), Change::Deleted) => WatchEvent::Deleted(object),
        (Stored::Bad(object), change) => WatchEvent::Undecodable { change, object },
    }
}
