use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::schedule::Schedule;

/// A little later than the time of a run, so that it has surely come.
const PADDING: Duration = Duration::from_millis(100);
/// More missed times than this are worth a warning.
const MANY: i64 = 100;

/// The times of a schedule since its last run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The latest one that has come; `None` if none has.
    pub(super) latest: Option<Timestamp>,
    /// Whether so many were missed that the CronJob is set up wrongly.
    pub(super) many_missed: bool,
    /// The last run, or the latest time before which none is made up for.
    since: Timestamp,
    missed: bool,
}

/// The times of a schedule after `since`, up to `now`.
///
/// # Errors
/// A text, if the schedule has no times.
pub(super) fn due(
    schedule: &Schedule,
    zone: &TimeZone,
    since: Timestamp,
    now: Timestamp,
) -> Result<Due, String> {
    let none = "the schedule has no time in the next five years";
    let first = schedule.next(since, zone).ok_or(none)?;
    let second = schedule.next(first, zone).ok_or(none)?;
    let due = |latest, missed: bool, many_missed| Due {
        latest,
        many_missed,
        since,
        missed,
    };
    if now < first {
        return Ok(due(None, false, false));
    }
    if now < second {
        return Ok(due(Some(first), false, false));
    }
    // An estimate from the first two times, so that years of missed runs need no long search.
    let between = second.duration_since(first).as_secs().max(1);
    let missed = now.duration_since(first).as_secs() / between + 1;
    let skipped = SignedDuration::from_secs((missed - 2).saturating_mul(between));
    let mut latest = None;
    let mut time = first.checked_add(skipped).map_err(|_| none)?;
    while let Some(next) = schedule.next(time, zone).filter(|next| *next <= now) {
        latest = Some(next);
        time = next;
    }
    Ok(due(latest, true, missed > MANY))
}

/// The time until the schedule is due next.
pub(super) fn until_next(
    schedule: &Schedule,
    zone: &TimeZone,
    since: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    let from = match due(schedule, zone, since, now) {
        Ok(due) => match due.latest {
            Some(latest) => latest,
            None if due.missed => now,
            None => due.since,
        },
        Err(_) => now,
    };
    let next = schedule.next(from, zone)?.duration_since(now);
    Some(Duration::try_from(next).unwrap_or_default() + PADDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-{text}Z").parse().unwrap()
    }

    #[test]
    fn the_latest_of_all_missed_times_is_due() {
        let schedule = Schedule::parse("0 6-16/4 * * 1-5").unwrap();
        let utc = TimeZone::UTC;
        // 2026-01-01 is a Thursday.
        for (now, latest, many) in [
            ("01T05:00:00", None, false),
            ("01T06:30:00", Some("01T06:00:00"), false),
            // The estimate is past the last one, because the pauses differ. A real controller does not make up for this run either.
            ("01T20:00:00", None, false),
            ("02T15:00:00", Some("02T14:00:00"), false),
            ("28T10:00:00", Some("28T10:00:00"), true),
        ] {
            let due = due(&schedule, &utc, at("01T00:00:00"), at(now)).unwrap();
            assert_eq!(
                (due.latest, due.many_missed),
                (latest.map(at), many),
                "{now}"
            );
        }
        let rest = until_next(&schedule, &utc, at("01T00:00:00"), at("01T06:30:00"));
        assert_eq!(
            rest,
            Some(Duration::from_millis(3 * 3_600_000 + 30 * 60_000 + 100))
        );
    }

    #[test]
    fn a_schedule_without_times_is_an_error() {
        let never = Schedule::parse("0 0 31 2 *").unwrap();
        let time = at("01T00:00:00");
        assert!(due(&never, &TimeZone::UTC, time, time).is_err());
        assert_eq!(until_next(&never, &TimeZone::UTC, time, time), None);
    }
}
