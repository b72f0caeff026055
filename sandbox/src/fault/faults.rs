use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Answer, End, RequestMatcher, Watches};
use crate::record::RecordedRequest;
use crate::store::Store;

/// The faults of one sandbox. Each method takes effect before it returns.
///
/// ```
/// # use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let sandbox = Sandbox::builder().build()?;
/// // The next two lists of Pods fail.
/// let pods = RequestMatcher::any().verb("list").resource("pods");
/// sandbox.faults().answer(pods, Answer::status(503, "ServiceUnavailable"), 2);
/// # Ok(())
/// # }
/// ```
pub struct Faults {
    store: Arc<Store>,
    watches: Arc<Watches>,
    planned: Mutex<Vec<Planned>>,
    cut: Mutex<Vec<RequestMatcher>>,
    held: watch::Sender<Vec<RequestMatcher>>,
    /// For whose reads the cache is held back, and at which resource version.
    caches: watch::Sender<Vec<(RequestMatcher, u64)>>,
}

struct Planned {
    matcher: RequestMatcher,
    fault: Fault,
    left: usize,
}

/// The fault of a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The request gets this response instead of being carried out.
    Answer(Answer),
    /// The request is carried out, and its connection or stream breaks instead of a response.
    Lost,
    /// The request is carried out after this time.
    DelayedRequest(Duration),
    /// The request is carried out, and its response comes after this time.
    DelayedResponse(Duration),
}

impl Faults {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            watches: Arc::default(),
            planned: Mutex::default(),
            cut: Mutex::default(),
            held: watch::Sender::default(),
            caches: watch::Sender::default(),
        }
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }

    /// Breaks running watches in the middle of their streams, as a lost connection does. Returns their number.
    pub fn drop_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Break)
    }

    /// Ends running watches cleanly, as their timeout does. Returns their number.
    pub fn close_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Close)
    }

    /// Ends running watches with an ERROR event of code 410, as a server does whose history no longer reaches back to
    /// them. Returns their number.
    pub fn expire_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Expire)
    }

    /// The number of running watches.
    pub fn running_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.count(matcher)
    }

    /// Compacts the history. From now on the server answers older resource versions and continue tokens with 410, and a
    /// running watch that has not read everything gets an ERROR event.
    pub fn compact(&self) {
        self.store.compact();
    }

    /// Holds the events of matching watches, running ones and new ones, until
    /// [`release_watches`](Self::release_watches). A held watch can still be broken or ended.
    pub fn hold_watches(&self, matcher: RequestMatcher) {
        self.held.send_modify(|held| held.push(matcher));
    }

    /// Sends the held events of every watch.
    pub fn release_watches(&self) {
        self.held.send_modify(Vec::clear);
    }

    /// Holds the cache back that answers matching reads, until [`release_caches`](Self::release_caches): as after a switch to an API server
    /// whose cache is behind. The cache stays at `resource_version`, for example one that a read returned earlier; `None` is the present one.
    ///
    /// As on a real server, the cache answers a get or a list that accepts an old state (`resourceVersion=0`, or a version), and it answers
    /// watches. A get or list that needs a later version waits for 3 s and then fails with 504; a watch from a later version is silent until
    /// the cache is released. A get or list without a version is answered with the newest state.
    pub fn hold_caches(&self, matcher: RequestMatcher, resource_version: Option<u64>) {
        let version = resource_version.unwrap_or_else(|| self.store.version());
        self.caches
            .send_modify(|caches| caches.push((matcher, version)));
    }

    /// Lets every held cache catch up.
    pub fn release_caches(&self) {
        self.caches.send_modify(Vec::clear);
    }

    /// Answers the next `times` matching requests with `answer`, and does not carry them out. If several planned faults
    /// match, the one that was planned first is used first.
    pub fn answer(&self, matcher: RequestMatcher, answer: Answer, times: usize) {
        self.plan(matcher, Fault::Answer(answer), times);
    }

    /// Carries out the next `times` matching requests and loses the responses: resets the stream of an HTTP/2
    /// connection, closes an HTTP/1.1 connection. The client cannot know whether the requests were carried out. The log
    /// records them with the status that was lost.
    pub fn lose_responses(&self, matcher: RequestMatcher, times: usize) {
        self.plan(matcher, Fault::Lost, times);
    }

    /// Carries out the next `times` matching requests `by` later, by tokio's clock.
    pub fn delay_requests(&self, matcher: RequestMatcher, by: Duration, times: usize) {
        self.plan(matcher, Fault::DelayedRequest(by), times);
    }

    /// Carries out the next `times` matching requests at once, and sends the responses `by` later, by tokio's clock.
    pub fn delay_responses(&self, matcher: RequestMatcher, by: Duration, times: usize) {
        self.plan(matcher, Fault::DelayedResponse(by), times);
    }

    /// Cuts off the senders of matching requests, until [`heal`](Self::heal): their running watches break, and their requests are not carried
    /// out, get no response and are not recorded. [`RequestMatcher::user`] and
    /// [`RequestMatcher::user_agent`] choose a client.
    pub fn partition(&self, matcher: RequestMatcher) {
        self.cut.lock().push(matcher.clone());
        self.drop_watches(&matcher);
    }

    /// Ends every [`partition`](Self::partition).
    pub fn heal(&self) {
        self.cut.lock().clear();
    }

    /// Removes every planned fault, ends every partition, and releases held watches and caches.
    pub fn clear(&self) {
        self.planned.lock().clear();
        self.heal();
        self.release_watches();
        self.release_caches();
    }

    fn plan(&self, matcher: RequestMatcher, fault: Fault, times: usize) {
        self.planned.lock().push(Planned {
            matcher,
            fault,
            left: times,
        });
    }

    /// Whether the sender of a request is cut off.
    pub(crate) fn cuts(&self, request: &RecordedRequest) -> bool {
        self.cut
            .lock()
            .iter()
            .any(|matcher| matcher.matches(request))
    }

    /// Takes the fault that is planned for a request.
    pub(crate) fn take(&self, request: &RecordedRequest) -> Option<Fault> {
        let mut all = self.planned.lock();
        all.retain(|planned| planned.left > 0);
        let planned = all
            .iter_mut()
            .find(|planned| planned.matcher.matches(request))?;
        planned.left -= 1;
        Some(planned.fault.clone())
    }

    /// The resource version at which the cache for a read is held back.
    pub(crate) fn cache(&self, read: &RecordedRequest) -> Option<u64> {
        oldest(&self.caches.borrow(), read)
    }

    /// Waits until the cache for a read has `version`. Returns [`cache`](Self::cache) then.
    pub(crate) async fn cache_reached(&self, read: &RecordedRequest, version: u64) -> Option<u64> {
        let mut caches = self.caches();
        let has = |caches: &Vec<_>| oldest(caches, read).is_none_or(|cached| cached >= version);
        // The sender is in `self`, so the wait cannot fail.
        let reached = caches.wait_for(has).await.ok()?;
        oldest(&reached, read)
    }

    /// Notified of every change of the held caches.
    pub(crate) fn caches(&self) -> watch::Receiver<Vec<(RequestMatcher, u64)>> {
        self.caches.subscribe()
    }

    /// Waits until a watch may send its events.
    pub(crate) async fn released(&self, watch: &RecordedRequest) {
        let is_held = |held: &Vec<RequestMatcher>| held.iter().any(|one| one.matches(watch));
        let mut held = self.held.subscribe();
        // The sender is in `self`, so the wait cannot fail.
        let _ = held.wait_for(|held| !is_held(held)).await;
    }

    /// Whether a watch must not send its events.
    pub(crate) fn holds(&self, watch: &RecordedRequest) -> bool {
        self.held.borrow().iter().any(|one| one.matches(watch))
    }
}

fn oldest(caches: &[(RequestMatcher, u64)], read: &RecordedRequest) -> Option<u64> {
    let held = caches.iter().filter(|(matcher, _)| matcher.matches(read));
    held.map(|(_, version)| *version).min()
}
