use std::time::Duration;

use pilothouse::testing::{Answer, Cluster, RequestMatcher};
use tokio::time::{Instant, sleep};

use super::dice::Dice;

/// Faults drawn from a seeded source: watches that break, end, expire or are late, a history that is forgotten, reads that
/// fail, conflicts, writes that are refused, and writes whose answer is lost. Only children are written in bad weather, so
/// that the test's own changes of parents get through.
pub(crate) struct Weather {
    pub(crate) cluster: Cluster,
    pub(crate) dice: Dice,
}

impl Weather {
    /// Bad weather for so long, and then none any more.
    pub(crate) async fn blow(self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.gust();
            let pause = 100 + self.dice.below(3000);
            sleep(Duration::from_millis(pause)).await;
        }
        self.cluster.faults().clear();
    }

    fn gust(&self) {
        let (faults, dice) = (self.cluster.faults(), &self.dice);
        let resource = ["widgets", "configmaps"][dice.below(2) as usize];
        let read = RequestMatcher::any().resource(resource);
        let watches = read.clone().verb("watch");
        let writes = RequestMatcher::any().resource("configmaps").verb("patch");
        let times = 1 + dice.below(4) as usize;
        match dice.below(9) {
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
                ][dice.below(3) as usize];
                let verb = ["list", "watch"][dice.below(2) as usize];
                faults.answer(read.verb(verb), Answer::status(code, reason), times);
                faults.drop_watches(&watches);
            }
            5 => faults.answer(writes, Answer::status(409, "Conflict"), 2 * times),
            6 => faults.answer(writes, Answer::status(500, "InternalError"), times),
            7 => faults.lose_answers(writes, times),
            // Late, until the next one.
            _ => return faults.hold_watches(watches),
        }
        faults.release_watches();
    }
}
