use std::{collections::HashMap, fmt, hash::Hash, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::{sleep, timeout};

use super::{
    enqueuer::Enqueuer,
    mapping::run_mapping,
    request::Request,
    stream_source::add,
    wiring::{Connection, Wiring},
};
use crate::{
    backoff::{Backoff, Growth, Jitter},
    controller::{
        caches::Lookup,
        environment::Environment,
        error::{Failure, Result},
        reconcilable::Reconcilable,
        wired::Wired,
    },
    health::catch_panic_of,
};

/// Looks at intervals at something that does not report its changes, such as the API of a cloud, and requests reconciles for
/// what has changed. For [`Controller::polls`](crate::controller::Controller::polls).
///
/// Each poll returns a map of all that there is: a key for each thing, and a state that can be compared. A thing leads to
/// reconciles if it is new, if its state differs from that of the last poll, or if it is gone. After the first poll there is
/// nothing to compare with, so all objects are reconciled, with a low priority.
///
/// * A poll that fails, panics or takes too long says nothing about the things: none of them counts as gone, and the next poll
///   is compared with the last one that succeeded. Failures in a row are one line of the log at level `warn`, and another
///   line says when they end. `pilothouse_controller_poll_failures_total` counts them. After a failure the next poll comes
///   after 1 s, then 2 s, and so on, up to the period.
/// * The next poll begins when the changes of the last one are in the queue. Polls of one `Poll` never overlap.
/// * In memory are the last map and, during a poll, the next one. A poll with more things than the
///   [limit](Self::limit) counts as failed.
/// * A state that changes and changes back between two polls is not seen. With
///   [`Controller::every`](crate::controller::Controller::every), each object is also reconciled without a difference.
///
/// ```
/// use std::{collections::HashMap, time::Duration};
/// use pilothouse::{controller::{Controller, Poll, Reconciler, Result}, resource::ObjectKey};
///
/// # #[derive(Clone)] struct Cloud;
/// # struct Bucket { owner: ObjectKey, size: u64 }
/// # impl Cloud { async fn buckets(&self) -> Result<Vec<Bucket>> { Ok(Vec::new()) } }
/// # fn wire<R: Reconciler>(controller: Controller<R>, cloud: &Cloud) -> Controller<R> {
/// let cloud = cloud.clone();
/// controller.polls(Poll::every(Duration::from_secs(30), move || {
///     let cloud = cloud.clone();
///     async move {
///         let buckets = cloud.buckets().await?.into_iter();
///         Ok(buckets.map(|bucket| (bucket.owner, bucket.size)).collect::<HashMap<_, _>>())
///     }
/// }))
/// # }
/// ```
pub struct Poll<Q, S> {
    name: String,
    period: Duration,
    timeout: Duration,
    limit: usize,
    poll: Box<dyn FnMut() -> Polled<Q, S> + Send>,
}

type Things<Q, S> = HashMap<Q, S>;
type Polled<Q, S> = BoxFuture<'static, Result<Things<Q, S>>>;

/// The largest random addition to the period, as a fraction of it.
const SPREAD: f64 = 0.1;
const FIRST_RETRY: Duration = Duration::from_secs(1);

impl<Q, S> Poll<Q, S>
where
    Q: Eq + Hash + Clone + Send + 'static,
    S: PartialEq + Send + 'static,
{
    /// Calls `poll` when the controller begins to work, and then again whenever `period`, or up to a tenth more, has passed
    /// since the end of the last call. The shortest period is 1 ms. If the map has a key twice, the later state counts.
    pub fn every<F, M>(period: Duration, mut poll: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<M>> + Send + 'static,
        M: IntoIterator<Item = (Q, S)>,
    {
        Self {
            name: "a poll".to_owned(),
            period: period.max(Duration::from_millis(1)),
            timeout: Duration::from_secs(60),
            limit: 100_000,
            poll: Box::new(move || {
                let polled = poll();
                Box::pin(async move { Ok(polled.await?.into_iter().collect()) })
            }),
        }
    }

    /// Sets the name in log lines, such as `the buckets`. The default is `a poll`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A poll that takes longer than this is dropped and counts as failed. The default is 60 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// A poll that returns more things than this counts as failed. The default is 100 000.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Polls once. A panic and a poll that takes too long are failures, too.
    async fn once(&mut self) -> std::result::Result<Things<Q, S>, PollFailure> {
        // The call itself is inside, because it may panic as well.
        let polled = catch_panic_of(async { timeout(self.timeout, (self.poll)()).await }).await;
        let things = match polled {
            Ok(Ok(things)) => things,
            Ok(Err(_)) => Err(Failure::timed_out(self.timeout)),
            Err(panic) => return Err(PollFailure::panicked(format!("it panicked: {panic}"))),
        };
        let things = things.map_err(|failure| PollFailure::failed(failure.to_string()))?;
        match things.len() > self.limit {
            true => Err(PollFailure::failed(format!(
                "it returned {} things, and the limit is {}: raise it with `Poll::limit`, or poll fewer things",
                things.len(),
                self.limit
            ))),
            false => Ok(things),
        }
    }
}

/// Why a poll failed.
struct PollFailure {
    text: String,
    is_panic: bool,
}

impl PollFailure {
    fn failed(text: String) -> Self {
        Self {
            text,
            is_panic: false,
        }
    }

    fn panicked(text: String) -> Self {
        Self {
            text,
            is_panic: true,
        }
    }
}

impl<Q, S> fmt::Debug for Poll<Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poll")
            .field("name", &self.name)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}

/// A poll, with the mapping from its keys to requests.
pub(crate) struct PollSource<Q, S> {
    pub(crate) poll: Poll<Q, S>,
    pub(crate) map: Box<Map<Q>>,
}

type Map<Q> = dyn FnMut(Q, &Lookup<'_>) -> Result<Vec<Request>> + Send;

impl<K, Q, S> Wiring<K> for PollSource<Q, S>
where
    K: Reconcilable,
    Q: Eq + Hash + Clone + Send + 'static,
    S: PartialEq + Send + 'static,
{
    fn wired(&self) -> Option<Wired> {
        None
    }

    fn connect(self: Box<Self>, _: &Environment, enqueuer: &Enqueuer<K>) -> Connection {
        Connection::streaming(Box::pin(run(*self, enqueuer.clone())))
    }
}

/// Polls and compares, for ever.
async fn run<K, Q, S>(source: PollSource<Q, S>, enqueuer: Enqueuer<K>)
where
    K: Reconcilable,
    Q: Eq + Hash + Clone + Send + 'static,
    S: PartialEq + Send + 'static,
{
    let PollSource { mut poll, mut map } = source;
    let (mut known, mut jitter) = (None, Jitter::random());
    let growth = Growth::doubling(FIRST_RETRY.min(poll.period), poll.period).jitter(SPREAD);
    let mut backoff = Backoff::new(growth, Duration::ZERO);
    loop {
        match poll.once().await {
            Ok(things) => {
                if !backoff.is_reset() {
                    backoff.reset();
                    tracing::info!(controller = enqueuer.name, "{} works again", poll.name);
                }
                let compare = |known| {
                    let what = format!("the comparison of {}", poll.name);
                    enqueuer.catch_panic(what, || changes(known, &things))
                };
                // After a panic all objects are reconciled, as after the first poll.
                let changes = known.as_ref().and_then(compare);
                known = Some(things);
                match changes {
                    None => add(&enqueuer, Request::all()).await,
                    Some(changes) => {
                        for key in changes {
                            let what = format!("the mapping of {}", poll.name);
                            let requests = run_mapping(&enqueuer, &what, || {
                                map(key, &Lookup::new(&enqueuer.caches))
                            });
                            for request in requests {
                                add(&enqueuer, request).await;
                            }
                        }
                    }
                }
                sleep(jitter.stretched(poll.period, SPREAD)).await;
            }
            Err(failure) => {
                enqueuer.metrics.poll_failures.inc();
                if failure.is_panic {
                    enqueuer.metrics.handler_panics.inc();
                }
                let (name, text) = (&poll.name, failure.text);
                match backoff.is_reset() {
                    true => tracing::warn!(
                        controller = enqueuer.name,
                        "{name} failed, further failures are logged at debug level: {text}"
                    ),
                    false => tracing::debug!(controller = enqueuer.name, "{name} failed: {text}"),
                }
                sleep(backoff.next()).await;
            }
        }
    }
}

/// The keys that are new, that have another state, and that are gone.
fn changes<Q: Eq + Hash + Clone, S: PartialEq>(
    known: &Things<Q, S>,
    things: &Things<Q, S>,
) -> Vec<Q> {
    let present = things
        .iter()
        .filter(|(key, state)| known.get(key) != Some(state));
    let gone = known.keys().filter(|key| !things.contains_key(key));
    present.map(|(key, _)| key).chain(gone).cloned().collect()
}
