//! Servers that tell the client to wait.

use std::time::Duration;

use serde_json::json;

use crate::{
    row::{Health, Row},
    server::act::{Act, status},
};

fn refuses(code: u16, retry_after: &'static str) -> Row {
    Row::from_the_start().server(move |_, _| {
        let act = Act::status(code, "Busy");
        Some(match retry_after {
            "" => act,
            _ => act.header("retry-after", retry_after),
        })
    })
}

/// Returns a row in which the caches are in sync and the server refuses all watches.
fn refuses_watches(code: u16, retry_after: &'static str) -> Row {
    Row::after_sync().server(move |_, asked| {
        let act = || Act::status(code, "Busy").header("retry-after", retry_after);
        asked.is_watch().then(act)
    })
}

fn asks_in_details(seconds: serde_json::Value) -> Row {
    Row::from_the_start().server(move |_, _| {
        let mut told = status(503, "ServiceUnavailable");
        told["details"] = json!({"retryAfterSeconds": seconds});
        Some(Act::json(503, &told))
    })
}

rows! {
    half_a_minute_of_503 =>
        Row::from_the_start()
            .server(|server, _| {
                let still = server.hostile_for() < Duration::from_secs(30);
                still.then(|| Act::status(503, "ServiceUnavailable"))
            });
    too_many_requests_without_retry_after => refuses(429, "").reports(Health::NotReady("Busy"));
    too_many_requests_with_retry_after_zero => refuses(429, "0").requests(240).reports(Health::NotReady("Busy"));
    too_many_requests_for_a_second => refuses(429, "1").requests(90).reports(Health::NotReady("widgets")).recovers(80);
    too_many_requests_for_a_day => refuses(429, "86400").reports(Health::NotReady("Busy")).recovers(130);
    unavailable_for_a_day => refuses(503, "86400").reports(Health::NotReady("Busy")).recovers(130);
    unavailable_for_longer_than_the_clock_can_represent => refuses(503, "18446744073709551615").reports(Health::NotReady("Busy")).recovers(130);
    unavailable_for_a_number_of_seconds_that_overflows => refuses(503, "99999999999999999999999").reports(Health::NotReady("Busy"));
    unavailable_with_a_negative_retry_after => refuses(503, "-5").reports(Health::NotReady("Busy"));
    unavailable_with_a_fractional_retry_after => refuses(503, "0.5").reports(Health::NotReady("Busy"));
    unavailable_with_a_word_as_retry_after => refuses(503, "soon").reports(Health::NotReady("Busy"));
    unavailable_with_a_date_as_retry_after => refuses(503, "Fri, 31 Dec 9999 23:59:59 GMT").reports(Health::NotReady("Busy")).recovers(130);
    unavailable_with_a_past_date_as_retry_after => refuses(503, "Thu, 01 Jan 1970 00:00:00 GMT").reports(Health::NotReady("Busy"));
    retry_after_seconds_of_a_day => asks_in_details(json!(86400)).reports(Health::NotReady("ServiceUnavailable")).recovers(130);
    negative_retry_after_seconds => asks_in_details(json!(-5)).reports(Health::NotReady("ServiceUnavailable"));
    fractional_retry_after_seconds => asks_in_details(json!(1.5)).reports(Health::NotReady("ServiceUnavailable"));
    retry_after_seconds_that_are_a_word => asks_in_details(json!("soon")).reports(Health::NotReady("ServiceUnavailable"));
    retry_after_seconds_that_overflow =>
        asks_in_details(serde_json::from_str("1e30").unwrap()).reports(Health::NotReady("ServiceUnavailable")).recovers(130);
    watches_with_503_and_retry_after_of_a_day => refuses_watches(503, "86400").reports(Health::Trouble("Busy")).recovers(130);
    watches_with_429_and_retry_after_of_a_day => refuses_watches(429, "86400").reports(Health::Trouble("Busy")).recovers(130);
    watches_with_429_and_retry_after_zero => refuses_watches(429, "0").requests(240).reports(Health::Trouble("Busy"));
}
