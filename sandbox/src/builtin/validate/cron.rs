use jiff::tz::TimeZone;

use super::part::Part;
use crate::go::duration;
use crate::schema::FieldError;

/// The schedule of a CronJob.
pub(super) fn schedule(spec: &Part, old: Option<&Part>, found: &mut Vec<FieldError>) {
    let schedule = spec.get("schedule");
    let text = schedule.text();
    if text.is_empty() {
        return schedule.missing("", found);
    }
    if let Err(wrong) = parse(text) {
        schedule.invalid(wrong, found);
    }
    if !text.contains("TZ") {
        return;
    }
    let was_allowed = old.is_some_and(|old| old.text_of("schedule").contains("TZ"));
    match (was_allowed, spec.set("timeZone").is_some()) {
        (true, true) => {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            schedule.invalid(detail, found);
        }
        (true, false) => {}
        (false, _) => {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            schedule.invalid(detail, found);
        }
    }
}

const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
const DAYS: &str = "sun mon tue wed thu fri sat";

/// The least and the greatest number of each field, and the names of numbers.
const FIELDS: [(u64, u64, &str); 5] = [
    (0, 59, ""),
    (0, 23, ""),
    (1, 31, ""),
    (1, 12, MONTHS),
    (0, 6, DAYS),
];

const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

fn parse(text: &str) -> Result<(), String> {
    let mut rest = text;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let Some((zone, fields)) = text.split_once(' ') else {
            return Err("spec must contain a space after the time zone".to_owned());
        };
        let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
        if !is_zone(zone) {
            return Err(format!(
                "provided bad location {zone}: unknown time zone {zone}"
            ));
        }
        rest = fields.trim();
    }
    if rest.starts_with('@') {
        if let Some(every) = rest.strip_prefix("@every ") {
            let parsed = duration(every).map(drop);
            return parsed.map_err(|why| format!("failed to parse duration {rest}: {why}"));
        }
        return match DESCRIPTORS.contains(&rest) {
            true => Ok(()),
            false => Err(format!("unrecognized descriptor: {rest}")),
        };
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let shown = fields.join(" ");
        return Err(format!(
            "expected exactly 5 fields, found {}: [{shown}]",
            fields.len()
        ));
    }
    for (field, bounds) in fields.iter().zip(FIELDS) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            range(part, bounds)?;
        }
    }
    Ok(())
}

/// A range with a step: `2`, `1-5`, `*/2`.
fn range(text: &str, (least, most, names): (u64, u64, &str)) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = match ends[0] {
        "*" | "?" => (least, most),
        first => {
            let start = number(first, least, names)?;
            let end = match ends.len() {
                1 => start,
                2 => number(ends[1], least, names)?,
                _ => return Err(format!("too many hyphens: {text}")),
            };
            (start, end)
        }
    };
    let step = match parts.len() {
        1 => 1,
        2 => {
            let step = number(parts[1], 0, "")?;
            if ends.len() == 1 {
                end = most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {text}"
        ));
    }
    if end > most {
        return Err(format!(
            "end of range ({end}) above maximum ({most}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

/// A number, or the name of one: the first name means `least`.
fn number(text: &str, least: u64, names: &str) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let mut known = (least..).zip(names.split_whitespace());
    if let Some((number, _)) = known.find(|(_, name)| *name == lower) {
        return Ok(number);
    }
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number)
            .map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(why) => {
            let why = match why.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            Err(format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: {why}"
            ))
        }
    }
}

/// The time zone of a CronJob.
pub(super) fn time_zone(zone: &Part, found: &mut Vec<FieldError>) {
    let text = zone.text();
    if text.is_empty() {
        return zone.invalid("timeZone must be nil or non-empty string", found);
    }
    let unknown = format!("unknown time zone {text}");
    let allowed =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+');
    let is_part = |part: &str| {
        (1..=14).contains(&part.len())
            && part.chars().all(allowed)
            && !part.starts_with('-')
            && !matches!(part, "." | "..")
    };
    if !text.split('/').all(is_part) {
        return zone.invalid(unknown, found);
    }
    if text.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(detail, found);
        // A real server knows its own zone only by this name.
        if text == "Local" {
            return;
        }
    }
    if !is_zone(text) {
        zone.invalid(unknown, found);
    }
}

/// Whether there is a time zone of exactly this name.
fn is_zone(name: &str) -> bool {
    let zone = TimeZone::get(name);
    zone.is_ok_and(|zone| zone.iana_name().is_none_or(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_refused_with_the_texts_of_the_server() {
        for good in [
            "*/5 * * * *",
            "0 0 1-7 JAN mon-fri",
            "@daily",
            "@every 5m",
            "? 1,2 * * 6",
        ] {
            assert_eq!(parse(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("@often", "unrecognized descriptor: @often"),
            ("TZ=UTC", "spec must contain a space after the time zone"),
        ] {
            assert_eq!(parse(bad), Err(why.to_owned()), "{bad}");
        }
    }
}
