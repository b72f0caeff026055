use std::time::Duration;

use pilothouse::testing::{Answer, Cluster, RequestMatcher};
use tokio::time::{Instant, sleep};

use super::seeded_random::SeededRandom;

/// Random faults from a seed: watches that break, end, expire or are late, a compacted history, failed reads, conflicts,
/// refused writes, and writes whose answer is lost. The faults affect only writes of children, so that the test's own
/// changes of parents succeed.
pub(crate) struct RandomFaults {
    pub(crate) cluster: Cluster,
    pub(crate) random: SeededRandom,
}

impl RandomFaults {
    /// Injects faults for this time.
    pub(crate) async fn inject_for(self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.inject_one();
            let pause = 100 + self.random.below(3000);
            sleep(Duration::from_millis(pause)).await;
        }
        self.cluster.faults().clear();
    }

    fn inject_one(&self) {
        let (faults, random) = (self.cluster.faults(), &self.random);
        let resource = ["widgets", "configmaps"][random.below(2) as usize];
        let read = RequestMatcher::any().resource(resource);
        let watches = read.clone().verb("watch");
        let writes = RequestMatcher::any().resource("configmaps").verb("patch");
        let times = 1 + random.below(4) as usize;
        match random.below(9) {
            0 => drop(faults.drop_watches(&watches)),
            1 => drop(faults.close_watches(&watches)),
            2 => drop(faults.expire_watches(&watches)),
            3 => {
                faults.compact();
                faults.drop_watches(&watches);
            }
            4 => {
                let (code, reason) = [
                    (500, "InternalError"),
                    (503, "ServiceUnavailable"),
                    (429, "TooManyRequests"),
                ][random.below(3) as usize];
                let verb = ["list", "watch"][random.below(2) as usize];
                faults.answer(read.verb(verb), Answer::status(code, reason), times);
                faults.drop_watches(&watches);
            }
            5 => faults.answer(writes, Answer::status(409, "Conflict"), 2 * times),
            6 => faults.answer(writes, Answer::status(500, "InternalError"), times),
            7 => faults.lose_responses(writes, times),
            // Watches are late until the next fault.
            _ => return faults.hold_watches(watches),
        }
        faults.release_watches();
    }
}
