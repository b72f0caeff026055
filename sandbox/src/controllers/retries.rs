use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1000);

/// Objects whose writes failed, and when to try again: after 5 ms, then after twice the last time, and at most after 1000 s.
/// These are the pauses of the controllers of a real cluster.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// How often each object failed, by its UID or name.
    failures: BTreeMap<String, u32>,
    /// A running number keeps equal times in order.
    due: BTreeMap<(Instant, u64), String>,
    planned: BTreeMap<String, (Instant, u64)>,
    number: u64,
}

impl Retries {
    /// Plans another try for an object that has failed.
    pub(crate) fn add(&mut self, uid: &str, now: Instant) {
        let failures = self.failures.entry(uid.to_owned()).or_default();
        let pause = SHORTEST.saturating_mul(1 << (*failures).min(20));
        *failures = failures.saturating_add(1);
        self.cancel(uid);
        self.number += 1;
        let key = (now + pause.min(LONGEST), self.number);
        self.due.insert(key, uid.to_owned());
        self.planned.insert(uid.to_owned(), key);
    }

    /// The time of the next try.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.keys().next().map(|(due, _)| *due)
    }

    /// Ends when the next try is due. Never ends if none is planned.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + use<> {
        let due = self.next();
        async move {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// The objects to try now.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<String> {
        let mut taken = Vec::new();
        while let Some(entry) = self.due.first_entry()
            && entry.key().0 <= now
        {
            let uid = entry.remove();
            self.planned.remove(&uid);
            taken.push(uid);
        }
        taken
    }

    /// Forgets an object that is done or gone.
    pub(crate) fn forget(&mut self, uid: &str) {
        if self.failures.remove(uid).is_some() {
            self.cancel(uid);
        }
    }

    fn cancel(&mut self, uid: &str) {
        if let Some(key) = self.planned.remove(uid) {
            self.due.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_pauses_double_up_to_a_limit_and_begin_anew_after_a_success() {
        let (mut retries, now) = (Retries::default(), Instant::now());
        let pause = |retries: &mut Retries| {
            retries.add("a", now);
            let due = retries.next().unwrap();
            assert_eq!(retries.take_due(due), ["a"]);
            assert_eq!(retries.next(), None);
            due - now
        };
        let pauses: Vec<_> = (0..3).map(|_| pause(&mut retries).as_millis()).collect();
        assert_eq!(pauses, [5, 10, 20]);
        for _ in 0..40 {
            pause(&mut retries);
        }
        assert_eq!(pause(&mut retries), LONGEST);
        retries.forget("a");
        assert_eq!(pause(&mut retries), SHORTEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_object_is_not_tried_again() {
        let mut retries = Retries::default();
        retries.add("a", Instant::now());
        retries.add("b", Instant::now());
        retries.forget("a");
        assert_eq!(retries.take_due(Instant::now() + SHORTEST), ["b"]);
    }
}
