//! How many replicas each ReplicaSet of a Deployment shall have: numbers only.

/// A ReplicaSet as a roll-out sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Replicas it is told to have.
    pub(super) wanted: i64,
    /// Pods it has, those that are going included.
    pub(super) existing: i64,
    pub(super) available: i64,
}

/// How a Deployment replaces pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Recreate,
    Rolling { surge: i64, unavailable: i64 },
}

/// The replicas of the new ReplicaSet and of each old one (oldest first), as the next step towards `desired`.
pub(super) fn step(
    strategy: Strategy,
    desired: i64,
    new: &Share,
    old: &[Share],
) -> (i64, Vec<i64>) {
    match strategy {
        Strategy::Recreate => {
            let left = old
                .iter()
                .any(|share| share.existing > 0 || share.wanted > 0);
            let new = if left { new.wanted } else { desired };
            (new, vec![0; old.len()])
        }
        Strategy::Rolling { surge, unavailable } => rolling(desired, surge, unavailable, new, old),
    }
}

fn rolling(
    desired: i64,
    surge: i64,
    unavailable: i64,
    new: &Share,
    old: &[Share],
) -> (i64, Vec<i64>) {
    let told: i64 = old.iter().map(|share| share.wanted).sum();
    let room = (desired + surge - told - new.wanted).max(0);
    let grown = if new.wanted > desired {
        desired
    } else {
        desired.min(new.wanted + room)
    };
    let mut rest: Vec<i64> = old.iter().map(|share| share.wanted).collect();
    let minimum = desired - unavailable;
    // What is not available may go at once, as long as the new ones not available yet are allowed for.
    let missing = (new.wanted - new.available).max(0);
    let mut cut = (told + new.wanted - minimum - missing).max(0);
    for (share, rest) in old.iter().zip(&mut rest) {
        let idle = (share.wanted - share.available).max(0).min(cut);
        *rest -= idle;
        cut -= idle;
    }
    // Of those that serve only as many as leave the minimum.
    let available: i64 = new.available
        + old
            .iter()
            .map(|share| share.available.min(share.wanted))
            .sum::<i64>();
    let mut cut = (available - minimum).max(0);
    for (share, rest) in old.iter().zip(&mut rest) {
        let serving = share.available.min(*rest).min(cut);
        *rest -= serving;
        cut -= serving;
    }
    (grown, rest)
}

/// A bound that is a number or a part of `total`.
pub(super) fn bound(value: &serde_json::Value, total: i64, round_up: bool) -> i64 {
    if let Some(number) = value.as_i64() {
        return number.max(0);
    }
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    let scaled = percent.unwrap_or_default().max(0).saturating_mul(total);
    scaled / 100 + i64::from(round_up && scaled % 100 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    const BOUNDS: Strategy = Strategy::Rolling {
        surge: 1,
        unavailable: 0,
    };

    fn share(wanted: i64, available: i64) -> Share {
        Share {
            wanted,
            existing: wanted,
            available,
        }
    }

    #[test]
    fn a_first_roll_out_goes_to_all_replicas_at_once() {
        assert_eq!(step(BOUNDS, 3, &share(0, 0), &[]), (3, vec![]));
    }

    #[test]
    fn an_old_pod_goes_only_when_a_new_one_serves() {
        assert_eq!(step(BOUNDS, 2, &share(0, 0), &[share(2, 2)]), (1, vec![2]));
        assert_eq!(step(BOUNDS, 2, &share(1, 0), &[share(2, 2)]), (1, vec![2]));
        assert_eq!(step(BOUNDS, 2, &share(1, 1), &[share(2, 2)]), (1, vec![1]));
    }

    #[test]
    fn recreate_waits_until_no_old_pod_is_left() {
        let going = Share {
            wanted: 0,
            existing: 1,
            available: 0,
        };
        assert_eq!(
            step(Strategy::Recreate, 2, &share(0, 0), &[going]),
            (0, vec![0])
        );
        assert_eq!(
            step(Strategy::Recreate, 2, &share(0, 0), &[share(0, 0)]),
            (2, vec![0])
        );
    }

    proptest! {
        #[test]
        fn a_roll_out_keeps_its_bounds_and_ends(
            desired in 0_i64..20, surge in 0_i64..5, unavailable in 0_i64..5, first in 0_i64..20,
        ) {
            let unavailable = unavailable.min(desired);
            let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
            let strategy = Strategy::Rolling { surge, unavailable };
            let (mut new, mut old) = (share(0, 0), share(first.min(desired), first.min(desired)));
            let enough = old.available.min(desired - unavailable);
            for _ in 0..100 {
                let (next, rest) = step(strategy, desired, &new, std::slice::from_ref(&old));
                old = share(rest[0], rest[0].min(old.available));
                new = Share { wanted: next, existing: next, available: new.available.min(next) };
                prop_assert!(new.wanted + old.wanted <= desired + surge);
                prop_assert!(new.available + old.available >= enough);
                // One more pod becomes ready.
                new.available = (new.available + 1).min(new.wanted);
            }
            prop_assert_eq!((new.wanted, old.wanted), (desired, 0));
        }
    }
}
