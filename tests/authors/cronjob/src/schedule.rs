//! Cron expressions with five fields, in UTC.

use std::{iter, str::FromStr};

use pilothouse::k8s::jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

/// When something runs: a cron expression, such as `*/15 8-18 * * MON-FRI`.
///
/// Each set has one bit for each value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Cron's old rule: if both days are restricted, one of them is enough.
    either_day: bool,
}

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let found = fields.len();
            return Err(format!(
                "invalid schedule: expected 5 fields, found {found}"
            ));
        };
        let weekdays = field("day of week", weekday, 0, 7, &WEEKDAYS)?;
        Ok(Self {
            minutes: field("minute", minute, 0, 59, &[])?,
            hours: field("hour", hour, 0, 23, &[])?,
            days: field("day of month", day, 1, 31, &[])?,
            months: field("month", month, 1, 12, &MONTHS)?,
            // 0 and 7 are Sunday.
            weekdays: weekdays | (weekdays >> 7),
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }
}

/// Reads one field: a list of values and ranges, each with an optional step.
fn field(name: &str, text: &str, first: u32, last: u32, names: &[&str]) -> Result<u64, String> {
    let invalid = |part: &str| {
        format!("invalid schedule: {name}: {part:?} is no value or range from {first} to {last}")
    };
    let value = |text: &str| {
        let named = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        let named = named.and_then(|index| u32::try_from(index).ok());
        let value = named.map_or_else(|| text.parse().ok(), |index| Some(first + index));
        value.filter(|value| (first..=last).contains(value))
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse().map_err(|_| invalid(part))?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (Some(first), Some(last)),
            Some((from, to)) => (value(from), value(to)),
            None if step.is_some() => (value(range), Some(last)),
            None => (value(range), value(range)),
        };
        let (Some(from), Some(to), 1..) = (from, to, step.unwrap_or(1)) else {
            return Err(invalid(part));
        };
        if from > to {
            return Err(invalid(part));
        }
        let values = (from..=to).step_by(step.unwrap_or(1));
        set = values.fold(set, |set, value| set | 1 << value);
    }
    Ok(set)
}

impl Schedule {
    /// The first run after this time, if there is one within nine years.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = TimeZone::UTC.to_datetime(after);
        // Two leap days are at most eight years apart.
        let days = after.date().series(1.day()).take(9 * 366);
        let times = days.filter(|day| self.runs_on(*day)).flat_map(|day| {
            let hours = (0..24).filter(|hour| has(self.hours, *hour));
            hours.flat_map(move |hour| {
                let minutes = (0..60).filter(|minute| has(self.minutes, *minute));
                minutes.map(move |minute| day.at(hour, minute, 0, 0))
            })
        });
        let next = times.into_iter().find(|time| *time > after)?;
        TimeZone::UTC.to_timestamp(next).ok()
    }

    /// All runs after this time, in their order.
    pub fn runs_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        iter::successors(self.next(after), |run| self.next(*run))
    }

    fn runs_on(&self, day: Date) -> bool {
        let in_month = has(self.days, day.day());
        let in_week = has(self.weekdays, day.weekday().to_sunday_zero_offset());
        let day_fits = match self.either_day {
            true => in_month || in_week,
            false => in_month && in_week,
        };
        has(self.months, day.month()) && day_fits
    }
}

fn has(set: u64, value: i8) -> bool {
    set >> value & 1 == 1
}

#[cfg(test)]
mod tests;
