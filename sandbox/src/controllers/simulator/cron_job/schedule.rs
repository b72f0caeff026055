use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};

/// The times of a CronJob: the five fields minute, hour, day of the month, month and day of the week; `@hourly` and its like; or
/// `@every` with a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Schedule {
    Fields(Fields),
    Every(SignedDuration),
}

/// For each field the values that fit, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether days of the month and of the week both restrict the days. Then a day that fits one of them fits.
    either: bool,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// A text that says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(pause) = text.strip_prefix("@every ") {
            let pause: SignedDuration = pause
                .trim()
                .parse()
                .map_err(|error| format!("failed to parse duration {text}: {error}"))?;
            // The time between two runs is at least a second.
            return Ok(Self::Every(pause.max(SignedDuration::from_secs(1))));
        }
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ if text.starts_with('@') => return Err(format!("unrecognized descriptor: {text}")),
            _ => text,
        };
        let parts: Vec<&str> = fields.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = parts[..] else {
            let found = parts.len();
            return Err(format!(
                "expected exactly 5 fields, found {found}: [{text}]"
            ));
        };
        let any = |field: &str| field.starts_with(['*', '?']);
        Ok(Self::Fields(Fields {
            minutes: values(minutes, (0, 59), &[])?,
            hours: values(hours, (0, 23), &[])?,
            days: values(days, (1, 31), &[])?,
            months: values(months, (1, 12), &MONTHS)?,
            weekdays: values(weekdays, (0, 6), &WEEKDAYS)?,
            either: !any(days) && !any(weekdays),
        }))
    }

    /// Returns the first time after `time`, or `None` if the next five years have none.
    pub(super) fn next(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let second = Timestamp::from_second(time.as_second()).ok()?;
        match self {
            Self::Every(pause) => second.checked_add(*pause).ok(),
            Self::Fields(fields) => fields.next(second, zone),
        }
    }
}

impl Fields {
    fn next(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let minute = time.as_second().div_euclid(60) + 1;
        let mut time = Timestamp::from_second(minute * 60)
            .ok()?
            .to_zoned(zone.clone());
        let end = time.year() + 5;
        let has = |set: u64, value: i8| u32::try_from(value).is_ok_and(|at| set >> at & 1 == 1);
        while time.year() <= end {
            if !has(self.months, time.month()) {
                time = start(&time.first_of_month().ok()?, 1.month())?;
            } else if !self.fits_day(&time) {
                time = start(&time, 1.day())?;
            } else if !has(self.hours, time.hour()) {
                // Hours of the real time: where clocks are set back, an hour comes twice, and where they are set forward, it does
                // not come at all.
                let rest = 60 - i64::from(time.minute());
                time = time.checked_add(SignedDuration::from_mins(rest)).ok()?;
            } else if !has(self.minutes, time.minute()) {
                time = time.checked_add(SignedDuration::from_mins(1)).ok()?;
            } else {
                return Some(time.timestamp());
            }
        }
        None
    }

    fn fits_day(&self, time: &Zoned) -> bool {
        let has = |set: u64, value: i8| u32::try_from(value).is_ok_and(|at| set >> at & 1 == 1);
        let day = has(self.days, time.day());
        let weekday = has(self.weekdays, time.weekday().to_sunday_zero_offset());
        match self.either {
            true => day || weekday,
            false => day && weekday,
        }
    }
}

/// The start of the day that is `span` later.
fn start(time: &Zoned, span: Span) -> Option<Zoned> {
    time.checked_add(span).ok()?.start_of_day().ok()
}

/// The values of a field, as bits: a list of `*`, `a`, `a-b`, each with an optional step `/n`.
fn values(field: &str, bounds: (u32, u32), names: &[&str]) -> Result<u64, String> {
    let mut all = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step, part)?)),
            None => (part, None),
        };
        let value = |text: &str| {
            let lower = text.to_lowercase();
            match names.iter().position(|name| *name == lower) {
                Some(at) => Ok(u32::try_from(at).unwrap_or_default() + bounds.0),
                None => number(text, part),
            }
        };
        let (first, last) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => bounds,
            Some((first, last)) => (value(first)?, value(last)?),
            None => {
                let first = value(range)?;
                // With a step and no end the range goes on to the end.
                (first, if step.is_some() { bounds.1 } else { first })
            }
        };
        let step = step.unwrap_or(1);
        if first < bounds.0 {
            let least = bounds.0;
            return Err(format!(
                "beginning of range ({first}) below minimum ({least}): {part}"
            ));
        }
        if last > bounds.1 {
            let most = bounds.1;
            return Err(format!(
                "end of range ({last}) above maximum ({most}): {part}"
            ));
        }
        if first > last {
            return Err(format!(
                "beginning of range ({first}) beyond end of range ({last}): {part}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {part}"));
        }
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        for value in (first..=last).step_by(step) {
            all |= 1 << value;
        }
    }
    Ok(all)
}

fn number(text: &str, part: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("failed to parse int from {text}: {part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, zone: &str, time: &str) -> String {
        let zone = TimeZone::posix(zone).unwrap();
        let schedule = Schedule::parse(schedule).unwrap();
        let next = schedule.next(time.parse().unwrap(), &zone);
        next.map_or("never".to_owned(), |next| next.to_string())
    }

    #[test]
    fn the_next_time_fits_every_field() {
        for (schedule, expected) in [
            ("* * * * *", "2026-01-01T00:01:00Z"),
            ("*/15 * * * *", "2026-01-01T00:15:00Z"),
            ("5/20 * * * *", "2026-01-01T00:05:00Z"),
            ("30 4 * * *", "2026-01-01T04:30:00Z"),
            ("0 0 * * *", "2026-01-02T00:00:00Z"),
            ("0 12 * * MON-fri", "2026-01-01T12:00:00Z"),
            ("0 12 * * sun", "2026-01-04T12:00:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
            ("0 0 31 2 *", "never"),
            ("0 0 1 jul,aug *", "2026-07-01T00:00:00Z"),
            // The 13th, or a Friday.
            ("0 0 13 * 5", "2026-01-02T00:00:00Z"),
            ("0 0 13 * ?", "2026-01-13T00:00:00Z"),
            ("@hourly", "2026-01-01T01:00:00Z"),
            ("@weekly", "2026-01-04T00:00:00Z"),
            ("@monthly", "2026-02-01T00:00:00Z"),
            ("@yearly", "2027-01-01T00:00:00Z"),
            ("@every 1h30m", "2026-01-01T01:30:20Z"),
        ] {
            assert_eq!(
                next(schedule, "UTC0", "2026-01-01T00:00:20.5Z"),
                expected,
                "{schedule}"
            );
        }
    }

    #[test]
    fn a_time_that_a_time_zone_skips_does_not_come_and_one_that_it_repeats_comes_twice() {
        let zone = "CET-1CEST,M3.5.0,M10.5.0/3";
        let daily = "30 2 * * *";
        assert_eq!(
            next(daily, zone, "2026-01-01T12:00:00Z"),
            "2026-01-02T01:30:00Z"
        );
        assert_eq!(
            next(daily, zone, "2026-03-28T12:00:00Z"),
            "2026-03-30T00:30:00Z"
        );
        assert_eq!(
            next(daily, zone, "2026-10-24T12:00:00Z"),
            "2026-10-25T00:30:00Z"
        );
        assert_eq!(
            next(daily, zone, "2026-10-25T00:30:00Z"),
            "2026-10-25T01:30:00Z"
        );
    }

    #[test]
    fn a_wrong_schedule_is_refused_with_the_part_that_is_wrong() {
        for (schedule, expected) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("x * * * *", "failed to parse int from x: x"),
            ("@sometimes", "unrecognized descriptor: @sometimes"),
        ] {
            assert_eq!(Schedule::parse(schedule), Err(expected.to_owned()));
        }
    }
}
