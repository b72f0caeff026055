use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Answer, End, RequestMatcher, Watches};
use crate::api::ApiError;
use crate::record::RecordedRequest;
use crate::store::Store;

/// Faults of one sandbox. Each takes effect before its method returns.
pub struct Faults {
    store: Arc<Store>,
    watches: Arc<Watches>,
    answers: Mutex<Vec<Planned>>,
}

struct Planned {
    matcher: RequestMatcher,
    answer: Answer,
    left: usize,
}

impl Faults {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            watches: Arc::default(),
            answers: Mutex::default(),
        }
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }

    fn answers(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Answers the next `times` requests that match with an error; they are not carried out. Several planned answers are used in
    /// the order in which they were planned.
    pub fn answer(&self, matcher: RequestMatcher, answer: Answer, times: usize) {
        self.answers().push(Planned {
            matcher,
            answer,
            left: times,
        });
    }

    /// Forgets every answer still planned.
    pub fn clear(&self) {
        self.answers().clear();
    }

    pub(crate) fn check(&self, request: &RecordedRequest) -> Result<(), ApiError> {
        let mut answers = self.answers();
        answers.retain(|planned| planned.left > 0);
        match answers
            .iter_mut()
            .find(|planned| planned.matcher.matches(request))
        {
            Some(planned) => {
                planned.left -= 1;
                Err(planned.answer.to_error())
            }
            None => Ok(()),
        }
    }
}
