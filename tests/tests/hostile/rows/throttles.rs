//! Servers that ask to wait.

use std::time::Duration;

use serde_json::json;

use crate::{
    row::{Row, Says},
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

/// The caches are in sync, and watches cannot be opened any more.
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
    too_many_requests_without_a_time => refuses(429, "").says(Says::NotReady("Busy"));
    too_many_requests_for_no_seconds => refuses(429, "0").requests(240).says(Says::NotReady("Busy"));
    too_many_requests_for_a_second => refuses(429, "1").requests(90).says(Says::NotReady("widgets")).recovers(80);
    too_many_requests_for_a_day => refuses(429, "86400").says(Says::NotReady("Busy")).recovers(130);
    unavailable_for_a_day => refuses(503, "86400").says(Says::NotReady("Busy")).recovers(130);
    unavailable_for_longer_than_any_clock_holds => refuses(503, "18446744073709551615").says(Says::NotReady("Busy")).recovers(130);
    unavailable_for_more_seconds_than_any_integer => refuses(503, "99999999999999999999999").says(Says::NotReady("Busy"));
    unavailable_for_less_than_nothing => refuses(503, "-5").says(Says::NotReady("Busy"));
    unavailable_for_a_fraction => refuses(503, "0.5").says(Says::NotReady("Busy"));
    unavailable_for_a_word => refuses(503, "soon").says(Says::NotReady("Busy"));
    unavailable_until_a_date => refuses(503, "Fri, 31 Dec 9999 23:59:59 GMT").says(Says::NotReady("Busy")).recovers(130);
    unavailable_until_a_date_of_before => refuses(503, "Thu, 01 Jan 1970 00:00:00 GMT").says(Says::NotReady("Busy"));
    details_that_ask_to_wait_for_a_day => asks_in_details(json!(86400)).says(Says::NotReady("ServiceUnavailable")).recovers(130);
    details_that_ask_to_wait_for_less_than_nothing => asks_in_details(json!(-5)).says(Says::NotReady("ServiceUnavailable"));
    details_that_ask_to_wait_for_a_fraction => asks_in_details(json!(1.5)).says(Says::NotReady("ServiceUnavailable"));
    details_that_ask_to_wait_for_a_word => asks_in_details(json!("soon")).says(Says::NotReady("ServiceUnavailable"));
    details_that_ask_to_wait_for_more_than_any_integer =>
        asks_in_details(serde_json::from_str("1e30").unwrap()).says(Says::NotReady("ServiceUnavailable")).recovers(130);
    watches_that_are_unavailable_for_a_day => refuses_watches(503, "86400").says(Says::Trouble("Busy")).recovers(130);
    watches_that_are_too_many_for_a_day => refuses_watches(429, "86400").says(Says::Trouble("Busy")).recovers(130);
    watches_that_are_too_many_for_no_seconds => refuses_watches(429, "0").requests(240).says(Says::Trouble("Busy"));
}
