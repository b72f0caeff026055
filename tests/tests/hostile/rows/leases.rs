//! Wrong answers about the Lease.

use serde_json::{Value, json};

use crate::{
    row::{Health, Program, Row},
    server::{
        Asked, Server,
        act::{Act, Step},
    },
};

/// Returns a row with an elected operator in which `answer` answers requests for the Lease.
fn leases(answer: impl Fn(&Server, &Asked) -> Option<Act> + Send + Sync + 'static) -> Row {
    Row::from_the_start()
        .program(Program::Elected)
        .server(move |server, asked| match asked.plural.as_str() {
            "leases" => answer(server, asked),
            _ => None,
        })
        .reports(Health::Anything)
        .requests(120)
        .lines(6)
}

/// Returns a row in which somebody else holds the Lease, whatever the operator writes. The Lease is free when the
/// server is honest.
fn held(spec: Value) -> Row {
    leases(move |server, asked| {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": "hostile", "namespace": "default", "uid": "lease", "resourceVersion": server.version()},
        });
        Some(match asked.is_write() {
            true => Act::status(409, "Conflict"),
            false => Act::json(200, &object),
        })
    })
}

rows! {
    a_lease_that_is_held_by_another =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_with_a_duration_of_zero =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": 0, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_with_a_negative_duration =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": -15, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_that_is_held_forever =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": i32::MAX, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_with_a_duration_that_overflows =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": 99999999999i64, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_with_a_renewal_in_the_future =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "9999-12-31T23:59:59.999999Z"}));
    a_lease_with_an_invalid_renew_time =>
        held(json!({"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "yesterday"}));
    a_lease_without_a_spec => held(Value::Null);
    a_lease_whose_holder_is_not_a_string => held(json!({"holderIdentity": 5}));
    a_lease_whose_holder_has_a_hundred_thousand_bytes =>
        leases(|server, asked| {
            let object = json!({
                "metadata": {"name": "hostile", "namespace": "default", "uid": "lease", "resourceVersion": server.version()},
                "spec": {"holderIdentity": "x".repeat(100_000), "leaseDurationSeconds": 15},
            });
            Some(match asked.is_write() {
                true => Act::status(409, "Conflict"),
                false => Act::json(200, &object),
            })
        })
        .megabytes(40);
    a_lease_that_names_us_without_an_acquisition =>
        held(json!({"holderIdentity": "us", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}));
    a_lease_that_is_deleted_after_each_creation =>
        leases(|server, asked| {
            let act = server.honest(asked);
            server.change(|world| world.delete("leases", ("default", "hostile")));
            Some(act)
        });
    a_missing_lease_that_cannot_be_created =>
        leases(|_, asked| Some(match asked.is_write() {
            true => Act::status(409, "AlreadyExists"),
            false => Act::status(404, "NotFound"),
        }));
    a_lease_that_is_forbidden => leases(|_, _| Some(Act::status(403, "Forbidden")));
    a_lease_whose_writes_return_another_lease =>
        leases(|server, asked| asked.is_write().then(|| {
            let _done = server.honest(asked);
            Act::json(200, &json!({
                "metadata": {"name": "another", "namespace": "other", "uid": "x", "resourceVersion": "1"},
                "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15},
            }))
        }));
    a_lease_whose_writes_return_an_empty_body =>
        leases(|_, asked| asked.is_write().then(|| Act::text(200, "application/json", "")));
    a_lease_with_retry_after_of_a_day =>
        leases(|_, _| Some(Act::status(503, "Busy").header("retry-after", "86400")));
    a_lease_that_is_never_answered => leases(|_, _| Some(Act::Silence));
    a_lease_whose_answer_stalls => leases(|_, _| Some(Act::steps(vec![Step::Forever])));
}
