use std::time::Duration;

use serde_json::Value;

use crate::clock::Moment;
use crate::controllers::simulator::object::number;

/// How long a lower recommendation waits if the autoscaler does not say it.
const DOWNSCALE_WINDOW: u64 = 300;
/// Longer than every window and period that an autoscaler can have.
const KEPT: Duration = Duration::from_secs(3600);

/// The recommendations and changes of the last hour.
#[derive(Default)]
pub(super) struct History {
    now: Moment,
    recommendations: Vec<(Moment, i64)>,
    /// Replicas that were added, and those that were removed.
    added: Vec<(Moment, i64)>,
    removed: Vec<(Moment, i64)>,
}

impl History {
    /// Begins a round. The replicas that an autoscaler finds are its first recommendation.
    pub(super) fn begin(&mut self, current: i64, now: Moment) {
        self.now = now;
        for list in [
            &mut self.recommendations,
            &mut self.added,
            &mut self.removed,
        ] {
            list.retain(|(time, _)| now.saturating_sub(*time) <= KEPT);
        }
        if self.recommendations.is_empty() {
            self.recommend(current);
        }
    }

    fn recommend(&mut self, replicas: i64) {
        self.recommendations.push((self.now, replicas));
    }

    pub(super) fn scaled(&mut self, before: i64, after: i64) {
        let list = match after > before {
            true => &mut self.added,
            false => &mut self.removed,
        };
        list.push((self.now, (after - before).abs()));
    }

    /// What is not older than so many seconds.
    fn within(&self, list: &[(Moment, i64)], seconds: u64) -> impl Iterator<Item = i64> {
        let (now, window) = (self.now, Duration::from_secs(seconds));
        let recent = list
            .iter()
            .filter(move |(time, _)| now.saturating_sub(*time) < window);
        recent.map(|(_, number)| *number)
    }
}

/// A reason with its message.
type Why = (&'static str, &'static str);

/// The replicas after all limits.
pub(super) struct Limited {
    pub(super) replicas: i64,
    /// Why the target can be scaled now, or only so far.
    pub(super) able: Why,
    pub(super) limited: Why,
    pub(super) is_limited: bool,
}

const READY: Why = ("ReadyForNewScale", "recommended size matches current size");
const UP_STABILIZED: Why = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const DOWN_STABILIZED: Why = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const IN_RANGE: Why = (
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
const UP_LIMIT: Why = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const DOWN_LIMIT: Why = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
const TOO_MANY: Why = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
const TOO_FEW: Why = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);

/// Limits what the metrics ask for.
pub(super) fn limit(spec: &Value, history: &mut History, current: i64, wanted: i64) -> Limited {
    let (least, most) = (number(spec, "/minReplicas"), number(spec, "/maxReplicas"));
    let behavior = &spec["behavior"];
    let (stable, able) = match behavior.is_object() {
        true => stabilized(behavior, history, current, wanted),
        false => {
            let recent = history.within(&history.recommendations, DOWNSCALE_WINDOW);
            (recent.max().unwrap_or(wanted).max(wanted), DOWN_STABILIZED)
        }
    };
    history.recommend(wanted);
    let able = if stable == wanted { READY } else { able };
    let (lower, upper) = match behavior.is_object() {
        true => by_policies(behavior, history, current, stable, (least, most)),
        false => {
            // No more than twice as many at once, but always four.
            let fastest = (2 * current).max(4);
            let upper = match most > fastest {
                true => (fastest, UP_LIMIT),
                false => (most, TOO_MANY),
            };
            ((least, TOO_FEW), upper)
        }
    };
    let (replicas, limited) = if stable < lower.0 {
        lower
    } else if stable > upper.0 {
        upper
    } else {
        (stable, IN_RANGE)
    };
    Limited {
        replicas,
        able,
        limited,
        is_limited: replicas != stable,
    }
}

/// Brings a recommendation between the lowest and the highest one of the windows.
fn stabilized(behavior: &Value, history: &History, current: i64, wanted: i64) -> (i64, Why) {
    let window = |direction: &str, usual: u64| {
        let given = behavior[direction]["stabilizationWindowSeconds"].as_u64();
        history.within(&history.recommendations, given.unwrap_or(usual))
    };
    let up = window("scaleUp", 0).chain([wanted]).min().unwrap_or(wanted);
    let down = window("scaleDown", DOWNSCALE_WINDOW).chain([wanted]);
    let down = down.max().unwrap_or(wanted);
    let why = match wanted >= current {
        true => UP_STABILIZED,
        false => DOWN_STABILIZED,
    };
    (current.max(up).min(down), why)
}

/// The bounds by the policies of a change in the direction of `wanted`.
fn by_policies(
    behavior: &Value,
    history: &History,
    current: i64,
    wanted: i64,
    (least, most): (i64, i64),
) -> ((i64, Why), (i64, Why)) {
    let proposals = |direction: &str| {
        let up = direction == "scaleUp";
        let policies = behavior[direction]["policies"].as_array();
        let proposals: Vec<i64> = policies
            .into_iter()
            .flatten()
            .map(|policy| {
                let period = policy["periodSeconds"].as_u64().unwrap_or_default();
                let added: i64 = history.within(&history.added, period).sum();
                let removed: i64 = history.within(&history.removed, period).sum();
                let start = current - added + removed;
                let value = number(policy, "/value");
                let share = start as f64 * value as f64 / 100.0;
                match (policy["type"] == "Percent", up) {
                    (true, true) => (start as f64 + share).ceil() as i64,
                    (true, false) => (start as f64 - share) as i64,
                    (false, true) => start.saturating_add(value),
                    (false, false) => start.saturating_sub(value),
                }
            })
            .collect();
        let far = |proposals: Vec<i64>, least: bool| {
            let proposals = proposals.into_iter();
            let found = if least {
                proposals.min()
            } else {
                proposals.max()
            };
            found.unwrap_or(current)
        };
        match behavior[direction]["selectPolicy"].as_str() {
            Some("Disabled") => current,
            Some("Min") => far(proposals, up),
            _ => far(proposals, !up),
        }
    };
    let (mut lower, mut upper) = ((least, TOO_FEW), (most, TOO_MANY));
    if wanted > current {
        let fastest = proposals("scaleUp").max(current);
        if most > fastest {
            upper = (fastest, UP_LIMIT);
        }
        lower = (i64::MIN, TOO_FEW);
    } else if wanted < current {
        let fastest = proposals("scaleDown").min(current);
        if least < fastest {
            lower = (fastest, DOWN_LIMIT);
        }
        upper = (i64::MAX, TOO_MANY);
    } else {
        (lower, upper) = ((i64::MIN, TOO_FEW), (i64::MAX, TOO_MANY));
    }
    (lower, upper)
}
