use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Answer, End, RequestMatcher, Watches};
use crate::record::RecordedRequest;
use crate::store::Store;

/// Faults of one sandbox. Each takes effect before its method returns.
pub struct Faults {
    store: Arc<Store>,
    watches: Arc<Watches>,
    planned: Mutex<Vec<Planned>>,
    held: watch::Sender<Vec<RequestMatcher>>,
}

struct Planned {
    matcher: RequestMatcher,
    fault: Fault,
    left: usize,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is answered so instead of being carried out.
    Answer(Answer),
    /// It is carried out, and its connection or stream breaks instead of an answer.
    Lost,
}

impl Faults {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            watches: Arc::default(),
            planned: Mutex::default(),
            held: watch::Sender::default(),
        }
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }

    fn planned(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Breaks running watches in the middle of their streams, as a lost connection does. Tells how many.
    pub fn drop_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Break)
    }

    /// Ends running watches in good order, as after their timeout. Tells how many.
    pub fn close_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Close)
    }

    /// Ends running watches with an ERROR event of code 410, as a server does whose history went on without them. Tells how many.
    pub fn expire_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.end(matcher, End::Expire)
    }

    /// How many watches are running.
    pub fn running_watches(&self, matcher: &RequestMatcher) -> usize {
        self.watches.count(matcher)
    }

    /// Forgets the history: resource versions and continue tokens of before are answered 410 from now on, and a running watch
    /// that has not read everything gets an ERROR event.
    pub fn compact(&self) {
        self.store.compact();
    }

    /// From now on matching watches, running ones and new ones, tell nothing: what happens comes late, when they are
    /// [released](Self::release_watches). They can be broken or ended all the same.
    pub fn hold_watches(&self, matcher: RequestMatcher) {
        self.held.send_modify(|held| held.push(matcher));
    }

    /// Lets every watch tell what it has not told yet.
    pub fn release_watches(&self) {
        self.held.send_modify(Vec::clear);
    }

    /// Answers the next `times` requests that match with an error; they are not carried out. Several planned faults are used in
    /// the order in which they were planned.
    pub fn answer(&self, matcher: RequestMatcher, answer: Answer, times: usize) {
        self.plan(matcher, Fault::Answer(answer), times);
    }

    /// Carries out the next `times` requests that match and loses the answers: the stream of an HTTP/2 connection is reset, one of
    /// HTTP/1.1 is closed. The client cannot know whether they were done. They are recorded as they would have been answered.
    pub fn lose_answers(&self, matcher: RequestMatcher, times: usize) {
        self.plan(matcher, Fault::Lost, times);
    }

    /// Forgets every planned fault, and releases held watches.
    pub fn clear(&self) {
        self.planned().clear();
        self.release_watches();
    }

    fn plan(&self, matcher: RequestMatcher, fault: Fault, times: usize) {
        self.planned().push(Planned {
            matcher,
            fault,
            left: times,
        });
    }

    /// The fault planned for a request, which is used up by this.
    pub(crate) fn take(&self, request: &RecordedRequest) -> Option<Fault> {
        let mut all = self.planned();
        all.retain(|planned| planned.left > 0);
        let planned = all
            .iter_mut()
            .find(|planned| planned.matcher.matches(request))?;
        planned.left -= 1;
        Some(planned.fault.clone())
    }

    /// Waits until a watch may tell what it has to tell.
    pub(crate) async fn released(&self, watch: &RecordedRequest) {
        let is_held = |held: &Vec<RequestMatcher>| held.iter().any(|one| one.matches(watch));
        let mut held = self.held.subscribe();
        // The sender is in `self`.
        let _ = held.wait_for(|held| !is_held(held)).await;
    }

    /// Whether a watch is to tell nothing.
    pub(crate) fn holds(&self, watch: &RecordedRequest) -> bool {
        self.held.borrow().iter().any(|one| one.matches(watch))
    }
}
