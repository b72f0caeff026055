use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// How long a peer may take to send the head of its first request, its TLS handshake, or one write's bytes to take.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take, from the request's head to when the peer has taken it.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection stays open on which nothing is asked.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How many requests of one connection are taken back, by resets of HTTP/2, before it counts as an attack.
const MAX_ABANDONED: u32 = 100;
/// How often a connection's time is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// What happens on a connection, and whether its time is over.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<State>,
    attacked: Notify,
}

#[derive(Debug)]
struct State {
    /// Answers that are not taken yet, by the order of their requests.
    open: BTreeMap<u64, Open>,
    requests: u64,
    /// Requests whose answer was not taken.
    abandoned: u32,
    /// When the connection, or the last answer, was over.
    quiet_since: Instant,
}

#[derive(Debug)]
struct Open {
    /// When it was asked for.
    began: Instant,
    /// The connection stays open for it.
    is_admitted: bool,
}

/// An answer that is not taken yet.
#[derive(Debug)]
pub(super) struct OpenAnswer {
    activity: Arc<Activity>,
    number: u64,
    is_taken: bool,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                open: BTreeMap::new(),
                requests: 0,
                abandoned: 0,
                quiet_since: Instant::now(),
            }),
            attacked: Notify::new(),
        }
    }

    /// A request came.
    pub(super) fn begin(self: &Arc<Self>) -> OpenAnswer {
        self.with(|state| {
            let number = state.requests;
            state.requests += 1;
            let open = Open {
                began: Instant::now(),
                is_admitted: false,
            };
            state.open.insert(number, open);
            OpenAnswer {
                activity: self.clone(),
                number,
                is_taken: false,
            }
        })
    }

    /// The TLS handshake is over: the time for the first request's head begins.
    pub(super) fn secured(&self) {
        self.with(|state| state.quiet_since = Instant::now());
    }

    /// Since when the connection is idle, or its first open answer is not taken. It is `None` for a connection that
    /// is not to be closed for another one, because of an answer that was admitted.
    pub(super) fn evictable_since(&self) -> Option<Instant> {
        self.with(|state| {
            let is_kept = state.open.values().any(|open| open.is_admitted);
            let first = state.open.first_key_value();
            let since = first.map_or(state.quiet_since, |(_, open)| open.began);
            (!is_kept).then_some(since)
        })
    }

    /// How many open answers are admitted.
    pub(super) fn admitted(&self) -> usize {
        self.with(|state| state.open.values().filter(|open| open.is_admitted).count())
    }

    /// Waits until the connection's time is over, or its peer has taken back too much.
    pub(super) async fn is_over(&self) {
        let late = async {
            while Instant::now() < self.with(|state| state.end()) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        tokio::select! {
            () = late => {}
            () = self.attacked.notified() => {}
        }
    }

    fn with<T>(&self, then: impl FnOnce(&mut State) -> T) -> T {
        then(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// When the connection's time is over, if nothing happens until then.
    fn end(&self) -> Instant {
        match self.open.first_key_value() {
            Some((_, open)) => open.began + ANSWER_TIMEOUT,
            None if self.requests == 0 => self.quiet_since + HEAD_TIMEOUT,
            None => self.quiet_since + IDLE_TIMEOUT,
        }
    }
}

impl OpenAnswer {
    /// The connection is not closed for another one before this answer is taken.
    pub(super) fn admit(&self) {
        self.activity.with(|state| {
            if let Some(open) = state.open.get_mut(&self.number) {
                open.is_admitted = true;
            }
        });
    }

    /// The connection has all of it.
    pub(super) fn take(&mut self) {
        self.is_taken = true;
    }
}

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        let abandoned = self.activity.with(|state| {
            state.open.remove(&self.number);
            state.quiet_since = Instant::now();
            state.abandoned += u32::from(!self.is_taken);
            state.abandoned
        });
        if abandoned > MAX_ABANDONED {
            self.activity.attacked.notify_one();
        }
    }
}
