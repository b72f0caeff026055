use super::*;

fn next(schedule: &str, after: &str) -> String {
    let schedule: Schedule = schedule.parse().unwrap();
    let next = schedule.next(after.parse().unwrap());
    next.map_or("never".into(), |next| next.to_string())
}

#[test]
fn the_next_run_is_the_first_minute_that_fits_all_fields() {
    // The 1st of January 2026 is a Thursday.
    for (schedule, after, expected) in [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        (
            "* * * * *",
            "2026-01-01T00:00:59.9Z",
            "2026-01-01T00:01:00Z",
        ),
        (
            "*/15 * * * *",
            "2026-01-01T00:50:00Z",
            "2026-01-01T01:00:00Z",
        ),
        (
            "5/20 * * * *",
            "2026-01-01T00:26:00Z",
            "2026-01-01T00:45:00Z",
        ),
        (
            "0 8-18/5 * * *",
            "2026-01-01T13:00:00Z",
            "2026-01-01T18:00:00Z",
        ),
        (
            "30 2 1,15 * *",
            "2026-01-01T03:00:00Z",
            "2026-01-15T02:30:00Z",
        ),
        (
            "0 0 * * mon-fri",
            "2026-01-02T00:00:00Z",
            "2026-01-05T00:00:00Z",
        ),
        ("0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        (
            "0 0 13 * FRI",
            "2026-01-03T00:00:00Z",
            "2026-01-09T00:00:00Z",
        ),
        (
            "0 0 29 FEB *",
            "2096-03-01T00:00:00Z",
            "2104-02-29T00:00:00Z",
        ),
        ("0 0 30 2 *", "2026-01-01T00:00:00Z", "never"),
    ] {
        assert_eq!(next(schedule, after), expected, "{schedule}");
    }
}

#[test]
fn an_invalid_field_is_named() {
    for (schedule, problem) in [
        ("* * * *", "expected 5 fields, found 4"),
        (
            "60 * * * *",
            "minute: \"60\" is no value or range from 0 to 59",
        ),
        (
            "0 5-3 * * *",
            "hour: \"5-3\" is no value or range from 0 to 23",
        ),
        (
            "0 0 0 * *",
            "day of month: \"0\" is no value or range from 1 to 31",
        ),
        (
            "0 0 1 MAI *",
            "month: \"MAI\" is no value or range from 1 to 12",
        ),
        (
            "*/0 * * * *",
            "minute: \"*/0\" is no value or range from 0 to 59",
        ),
        (
            "1,,2 * * * *",
            "minute: \"\" is no value or range from 0 to 59",
        ),
    ] {
        let error = schedule.parse::<Schedule>().unwrap_err();
        assert_eq!(error, format!("invalid schedule: {problem}"));
    }
}
