use std::time::Duration;

use super::{FailedKey, RateLimiter, reservations::Reservations};

/// Lets `burst` failures through at once, and then `per_second`, over all keys together. Groups of keys take turns.
///
/// Combine it with a limiter for each key by [`MaxOf`](super::MaxOf). The defaults are those of client-go: a burst of
/// 100, then 10 per second.
///
/// A failure takes a token if there is one. Otherwise it reserves the next turn of its
/// [group](crate::queue::Builder::group_by): the n-th waiting retry of a group comes after the first n retries of each other
/// group. So a group alone has the whole rate, and many failures of one group do not delay another group: if G groups wait,
/// a further one waits for G + 1 tokens. The keys of one group, and of a queue without groups, are retried in the order of
/// their failures.
///
/// A reservation never becomes later. So a group that begins to wait while others have reservations adds to the rate for a
/// while. Of retries that G groups reserve at one time, at most `per_second` · (1 + 1/2 + … + 1/G) come per second, which is
/// less than `per_second` · (1 + ln G). No group has more than `per_second` retries per second in the long run. With one
/// group the rate is exact.
///
/// A key that runs before its delay ends returns its reservation, so that there are never more reservations than waiting
/// keys. A group without a reservation takes no memory. No delay is longer than `max` (24 h by default); a failure that
/// would wait longer reserves nothing.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    max: Duration,
    /// The tokens that no retry has reserved.
    tokens: f64,
    filled: Duration,
    reservations: Reservations,
}

impl TokenBucket {
    /// A full bucket. With a rate of 0 or less, all failures after `burst` wait for the maximum.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self {
            per_second,
            burst: burst.into(),
            max: Duration::from_secs(24 * 3600),
            tokens: burst.into(),
            filled: Duration::ZERO,
            reservations: Reservations::default(),
        }
    }

    /// Sets the longest delay.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    fn fill(&mut self, now: Duration) {
        let since = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = now;
        let used = self.reservations.expire(now) as f64;
        self.tokens = (self.tokens + since * self.per_second - used).clamp(0.0, self.burst);
    }
}

/// A burst of 100, then 10 per second.
impl Default for TokenBucket {
    fn default() -> Self {
        Self::new(10.0, 100)
    }
}

impl RateLimiter for TokenBucket {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        let FailedKey { group, now, .. } = failed;
        self.fill(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Duration::ZERO;
        }
        let missing = self.reservations.next_place(group) as f64 - self.tokens;
        let delay = Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(self.max);
        if delay >= self.max {
            // No reservation beyond the maximum, so that their number stays bounded.
            return self.max;
        }
        self.reservations.add(group, now.saturating_add(delay));
        delay
    }

    fn unused(&mut self, group: u64) {
        if !self.reservations.give_back(group) {
            self.tokens = (self.tokens + 1.0).min(self.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{ExponentialBackoff, Jitter, Jittered, MaxOf, MaxWait};
    use proptest::prelude::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_its_rate() {
        let mut bucket = TokenBucket::new(10.0, 2);
        let delays: Vec<_> = (0..4)
            .map(|_| bucket.delay(FailedKey::after(1, NOW)).as_millis())
            .collect();
        assert_eq!(delays, [0, 0, 100, 200]);
        // It fills up to its burst and no further, and no time counts twice.
        for seconds in [60, 61] {
            let now = Duration::from_secs(seconds);
            let delays: Vec<_> = (0..4)
                .map(|_| bucket.delay(FailedKey::after(1, now)).as_millis())
                .collect();
            assert_eq!(delays, [0, 0, 100, 200]);
        }
    }

    #[test]
    fn a_returned_token_goes_to_the_next_key() {
        let mut bucket = MaxWait::new(
            Jittered::new(
                MaxOf(TokenBucket::new(10.0, 1), ExponentialBackoff::default()),
                0.0,
                Jitter::seeded(1),
            ),
            Duration::from_secs(9),
        );
        let mut delay = || bucket.delay(FailedKey::after(1, NOW)).as_millis();
        assert_eq!([delay(), delay(), delay()], [5, 100, 200]);
        (0..2).for_each(|_| bucket.unused(0));
        assert_eq!(bucket.delay(FailedKey::after(1, NOW)).as_millis(), 100);
        (0..100).for_each(|_| bucket.unused(0));
        let burst: Vec<_> = (0..2)
            .map(|_| bucket.delay(FailedKey::after(1, NOW)).as_millis())
            .collect();
        assert!(burst[0] < 6 && burst[1] == 100, "{burst:?}");
    }

    #[test]
    fn the_debt_of_a_bucket_is_bounded() {
        let mut bucket = TokenBucket::new(10.0, 1).max(Duration::from_secs(1));
        for _ in 0..10_000 {
            assert!(bucket.delay(FailedKey::after(1, NOW)) <= Duration::from_secs(1));
        }
        assert_eq!(
            bucket.delay(FailedKey::after(1, Duration::from_secs(3))),
            Duration::ZERO
        );
        assert!(
            TokenBucket::new(0.0, 0).delay(FailedKey::after(1, NOW))
                == Duration::from_secs(24 * 3600)
        );
    }

    const MS: Duration = Duration::from_millis(1);

    fn of(group: u64, now: Duration) -> FailedKey {
        let failures = 1;
        FailedKey {
            failures,
            group,
            now,
        }
    }

    #[test]
    fn a_group_does_not_wait_for_the_backlog_of_another() {
        let mut bucket = TokenBucket::default();
        let noisy: Vec<_> = (0..3000).map(|_| bucket.delay(of(1, NOW))).collect();
        assert_eq!(
            noisy[3000 - 1],
            290_000 * MS,
            "a group alone has the whole rate"
        );
        let mut delays = |group| [(); 3].map(|()| bucket.delay(of(group, NOW)).as_millis());
        assert_eq!(delays(2), [200, 400, 600]);
        assert_eq!(delays(3), [300, 600, 900]);
        // Groups with few retries delay the others only by these.
        assert_eq!(bucket.delay(of(1, NOW)), 290_700 * MS);
    }

    #[test]
    fn a_bucket_remembers_only_groups_that_wait() {
        let mut bucket = TokenBucket::new(10.0, 0);
        for group in 0..10_000 {
            // A tenth of a second later the retry has come.
            bucket.delay(of(group, 100 * MS * group as u32));
        }
        assert!(
            format!("{:?}", bucket.reservations).len() < 300,
            "{bucket:?}"
        );
        for group in 0..100 {
            bucket.delay(of(group, 10_000_000 * MS));
            bucket.unused(group);
        }
        bucket.fill(20_000_000 * MS);
        let empty = format!("{:?}", Reservations::default());
        assert_eq!(format!("{:?}", bucket.reservations), empty);
    }

    /// What a bucket promises, computed in the simplest way.
    struct Model {
        tokens: f64,
        filled: Duration,
        waiting: Vec<(u64, Duration)>,
    }

    impl Model {
        fn waiting_of(&self, group: u64) -> usize {
            let of = self.waiting.iter().filter(|(one, _)| *one == group);
            of.count()
        }

        fn delay(&mut self, group: u64, now: Duration, groups: u64, rate: f64, burst: f64) -> f64 {
            let before = self.waiting.len();
            self.waiting.retain(|(_, due)| *due > now);
            let used = (before - self.waiting.len()) as f64;
            let since = (now - self.filled).as_secs_f64();
            self.filled = now;
            self.tokens = (self.tokens + since * rate - used).clamp(0.0, burst);
            if self.tokens >= 1.0 {
                self.tokens -= 1.0;
                return 0.0;
            }
            let place = self.waiting_of(group) + 1;
            let others = (0..groups).filter(|other| *other != group);
            let turns: usize = others.map(|other| self.waiting_of(other).min(place)).sum();
            ((place + turns) as f64 - self.tokens) / rate
        }
    }

    const GROUPS: u64 = 5;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Fail(u64, usize),
        Unused(u64),
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..GROUPS, 1usize..20).prop_map(|(group, times)| Step::Fail(group, times)),
            1 => (0..GROUPS).prop_map(Step::Unused),
            2 => (0u64..3000).prop_map(Step::Pass),
        ]
    }

    proptest! {
        #[test]
        fn groups_take_turns_and_none_has_more_than_its_rate(steps in prop::collection::vec(step(), 1..60)) {
            let (rate, burst) = (10.0, 3);
            let mut bucket = TokenBucket::new(rate, burst);
            // When each group began to wait, and how many retries it has reserved since.
            let (mut now, mut began) = (NOW, [(NOW, 0_u32); GROUPS as usize]);
            let mut model = Model { tokens: burst.into(), filled: NOW, waiting: Vec::new() };
            for step in steps {
                match step {
                    Step::Pass(millis) => now += Duration::from_millis(millis),
                    Step::Unused(group) => {
                        bucket.unused(group);
                        let of = model.waiting.iter().enumerate().filter(|(_, (one, _))| *one == group);
                        match of.max_by_key(|(_, (_, due))| *due).map(|(place, _)| place) {
                            Some(place) => {
                                model.waiting.remove(place);
                                began[group as usize].1 -= 1;
                            }
                            None => model.tokens = (model.tokens + 1.0).min(burst.into()),
                        }
                    }
                    Step::Fail(group, times) => for _ in 0..times {
                        let expected = model.delay(group, now, GROUPS, rate, burst.into());
                        let delay = bucket.delay(of(group, now));
                        prop_assert!((delay.as_secs_f64() - expected).abs() < 1e-6, "{:?} {}", delay, expected);
                        // A delay that rounds to zero is a reservation, too: a little was missing of a token.
                        if expected == 0.0 {
                            continue;
                        }
                        let (start, reserved) = &mut began[group as usize];
                        if model.waiting_of(group) == 0 {
                            (*start, *reserved) = (now, 0);
                        }
                        model.waiting.push((group, now + delay));
                        // A token that is not whole shortens a delay by up to one turn. So only half the time is certain.
                        let least = f64::from(*reserved) / (2.0 * rate);
                        let waited = (now + delay - *start).as_secs_f64();
                        prop_assert!(waited >= least - 1e-6, "{} retries in {:?}", *reserved + 1, waited);
                        *reserved += 1;
                    },
                }
                prop_assert_eq!(bucket.reservations.next_place(GROUPS) > 1, !model.waiting.is_empty());
            }
        }

        #[test]
        fn the_rate_of_all_groups_is_bounded(groups in prop::collection::vec(0..GROUPS, 1..200)) {
            let rate = 10.0;
            let mut bucket = TokenBucket::new(rate, 0);
            let mut delays: Vec<_> = groups.into_iter().map(|group| bucket.delay(of(group, NOW))).collect();
            delays.sort();
            let harmonic: f64 = (1..=GROUPS).map(|group| 1.0 / group as f64).sum();
            for (place, delay) in delays.into_iter().enumerate() {
                let most = delay.as_secs_f64() * rate * harmonic;
                prop_assert!((place + 1) as f64 <= most + 1e-6, "{} retries in {:?}", place + 1, delay);
            }
        }
    }
}
