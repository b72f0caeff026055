//! The arithmetic of a roll-out: how many replicas each ReplicaSet of a Deployment gets.

/// The numbers of a ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The replicas in its specification.
    pub(super) desired_replicas: i64,
    /// The Pods that it has, including those that are being deleted.
    pub(super) existing: i64,
    pub(super) available: i64,
}

/// How a Deployment replaces Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Recreate,
    Rolling { surge: i64, unavailable: i64 },
}

/// The replicas of the new ReplicaSet and of each old one (oldest first) after the next step towards `desired`.
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
                .any(|share| share.existing > 0 || share.desired_replicas > 0);
            let new = if left { new.desired_replicas } else { desired };
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
    let told: i64 = old.iter().map(|share| share.desired_replicas).sum();
    let room = (desired + surge - told - new.desired_replicas).max(0);
    let grown = if new.desired_replicas > desired {
        desired
    } else {
        desired.min(new.desired_replicas + room)
    };
    let mut rest: Vec<i64> = old.iter().map(|share| share.desired_replicas).collect();
    let minimum = desired - unavailable;
    // Pods that are not available may go at once, as long as room stays for the new Pods that are not available yet.
    let missing = (new.desired_replicas - new.available).max(0);
    let mut cut = (told + new.desired_replicas - minimum - missing).max(0);
    for (share, rest) in old.iter().zip(&mut rest) {
        let idle = (share.desired_replicas - share.available).max(0).min(cut);
        *rest -= idle;
        cut -= idle;
    }
    // Delete only as many available Pods as leaves the minimum.
    let available: i64 = new.available
        + old
            .iter()
            .map(|share| share.available.min(share.desired_replicas))
            .sum::<i64>();
    let mut cut = (available - minimum).max(0);
    for (share, rest) in old.iter().zip(&mut rest) {
        let serving = share.available.min(*rest).min(cut);
        *rest -= serving;
        cut -= serving;
    }
    (grown, rest)
}

/// A bound that is a number or a percentage of `total`.
pub(in crate::controllers::simulator) fn bound(
    value: &serde_json::Value,
    total: i64,
    round_up: bool,
) -> i64 {
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

    fn share(desired_replicas: i64, available: i64) -> Share {
        Share {
            desired_replicas,
            existing: desired_replicas,
            available,
        }
    }

    #[test]
    fn a_first_roll_out_goes_to_all_replicas_at_once() {
        assert_eq!(step(BOUNDS, 3, &share(0, 0), &[]), (3, vec![]));
    }

    #[test]
    fn an_old_pod_is_removed_only_when_a_new_one_is_available() {
        assert_eq!(step(BOUNDS, 2, &share(0, 0), &[share(2, 2)]), (1, vec![2]));
        assert_eq!(step(BOUNDS, 2, &share(1, 0), &[share(2, 2)]), (1, vec![2]));
        assert_eq!(step(BOUNDS, 2, &share(1, 1), &[share(2, 2)]), (1, vec![1]));
    }

    #[test]
    fn recreate_waits_until_no_old_pod_is_left() {
        let going = Share {
            desired_replicas: 0,
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
                new = Share { desired_replicas: next, existing: next, available: new.available.min(next) };
                prop_assert!(new.desired_replicas + old.desired_replicas <= desired + surge);
                prop_assert!(new.available + old.available >= enough);
                // One more Pod becomes ready.
                new.available = (new.available + 1).min(new.desired_replicas);
            }
            prop_assert_eq!((new.desired_replicas, old.desired_replicas), (desired, 0));
        }
    }
}
