use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use super::Limits;

/// The time limit for a peer to finish the TLS handshake, or to accept bytes of one write.
pub(super) const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for a response: from the head of the request until the peer has received the response.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of requests of one connection that the peer may cancel with HTTP/2 resets, beyond those whose response it
/// receives. More count as an attack.
const MAX_CANCELLED: u32 = 100;
/// How often the time limits of a connection are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Tracks the requests on a connection and decides when the connection must be closed.
#[derive(Debug)]
pub(super) struct Activity {
    limits: Limits,
    state: Mutex<State>,
    abused: Notify,
}

#[derive(Debug)]
struct State {
    /// Responses that the peer has not received yet, in the order of their requests.
    open: BTreeMap<u64, Open>,
    requests: u64,
    /// Requests whose response was not received, less those whose response was.
    abandoned: u32,
    /// When the connection started, or its last response ended.
    quiet_since: Instant,
}

#[derive(Debug)]
struct Open {
    /// When the request arrived.
    began: Instant,
    /// The connection must stay open for this response.
    is_admitted: bool,
}

/// A response that the peer has not received yet.
#[derive(Debug)]
pub(super) struct OpenResponse {
    activity: Arc<Activity>,
    number: u64,
    is_taken: bool,
}

impl Activity {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Mutex::new(State {
                open: BTreeMap::new(),
                requests: 0,
                abandoned: 0,
                quiet_since: Instant::now(),
            }),
            abused: Notify::new(),
        }
    }

    /// Records the arrival of a request.
    pub(super) fn begin(self: &Arc<Self>) -> OpenResponse {
        self.with(|state| {
            let number = state.requests;
            state.requests += 1;
            let open = Open {
                began: Instant::now(),
                is_admitted: false,
            };
            state.open.insert(number, open);
            OpenResponse {
                activity: self.clone(),
                number,
                is_taken: false,
            }
        })
    }

    /// Records the end of the TLS handshake. The time limit for the head of the first request starts.
    pub(super) fn secured(&self) {
        self.with(|state| state.quiet_since = Instant::now());
    }

    /// Since when the connection is idle or waits with its oldest response. `None` if it has an admitted
    /// response, because such a connection must not be closed for another one.
    pub(super) fn evictable_since(&self) -> Option<Instant> {
        self.with(|state| {
            let is_kept = state.open.values().any(|open| open.is_admitted);
            let first = state.open.first_key_value();
            let since = first.map_or(state.quiet_since, |(_, open)| open.began);
            (!is_kept).then_some(since)
        })
    }

    /// The number of responses that are admitted.
    pub(super) fn admitted(&self) -> usize {
        self.with(|state| state.open.values().filter(|open| open.is_admitted).count())
    }

    /// Waits until a time limit has passed, or until the peer has cancelled too many requests.
    pub(super) async fn is_over(&self) {
        let late = async {
            while Instant::now() < self.with(|state| state.end(&self.limits)) {
                tokio::time::sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::select! {
            () = late => {}
            () = self.abused.notified() => {}
        }
    }

    fn with<T>(&self, then: impl FnOnce(&mut State) -> T) -> T {
        then(&mut self.state.lock())
    }
}

impl State {
    /// When the connection must be closed if nothing happens before.
    fn end(&self, limits: &Limits) -> Instant {
        match self.open.first_key_value() {
            Some((_, open)) => open.began + RESPONSE_TIMEOUT,
            None if self.requests == 0 => self.quiet_since + limits.first_request,
            None => self.quiet_since + limits.idle,
        }
    }
}

impl OpenResponse {
    /// Admits the response: the connection is not closed for another one until the response has ended.
    pub(super) fn admit(&self) {
        self.activity.with(|state| {
            if let Some(open) = state.open.get_mut(&self.number) {
                open.is_admitted = true;
            }
        });
    }

    /// Marks the response as completely handed over to the connection.
    pub(super) fn take(&mut self) {
        self.is_taken = true;
    }
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        let abandoned = self.activity.with(|state| {
            state.open.remove(&self.number);
            state.quiet_since = Instant::now();
            state.abandoned = match self.is_taken {
                true => state.abandoned.saturating_sub(1),
                false => state.abandoned + 1,
            };
            state.abandoned
        });
        if abandoned > MAX_CANCELLED {
            self.activity.abused.notify_one();
        }
    }
}
