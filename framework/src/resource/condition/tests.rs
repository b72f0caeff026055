use jiff::Timestamp;
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Condition};
use serde_json::json;

use super::{ConditionError, Conditions, NewCondition, keep_transitions};
use crate::resource::Object;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn since(conditions: &[Condition], place: usize) -> i64 {
    conditions[place].last_transition_time.0.as_second()
}

#[test]
fn the_transition_time_changes_only_when_the_status_changes() {
    let mut conditions = Vec::new();
    let ready = NewCondition::is_false("Ready", "Starting");
    assert_eq!(conditions.set(ready.clone(), at(10)), Ok(true));
    assert_eq!(conditions.set(ready.clone(), at(20)), Ok(false));
    assert_eq!(since(&conditions, 0), 10);

    let mut object = ConfigMap::named("a");
    object.metadata.generation = Some(3);
    let more = ready.message("2 of 3").observed(&object);
    assert_eq!(conditions.set(more, at(30)), Ok(true));
    assert_eq!(since(&conditions, 0), 10);
    assert_eq!(conditions[0].observed_generation, Some(3));

    let ready = NewCondition::is_true("Ready", "Started");
    let late = Timestamp::from_millisecond(40_900).unwrap();
    assert_eq!(conditions.set(ready, late), Ok(true));
    // In whole seconds, as the API server stores it.
    assert_eq!(conditions[0].last_transition_time.0, at(40));
    assert_eq!(since(&conditions, 0), 40);
    assert!(conditions.is_true("Ready") && !conditions.is_false("Ready"));
}

#[test]
fn each_type_occurs_once_and_the_order_is_kept() {
    let mut conditions = Vec::new();
    for kind in ["B", "A", "C", "A", "B"] {
        conditions
            .set(NewCondition::is_unknown(kind, "Asked"), at(0))
            .unwrap();
    }
    let types = |conditions: &[Condition]| -> String {
        conditions.iter().map(|one| one.type_.as_str()).collect()
    };
    assert_eq!(types(&conditions), "BAC");
    assert!(!conditions.is_true("A") && !conditions.is_false("A"));
    assert!(conditions.unset("A") && !conditions.unset("A"));
    assert_eq!(types(&conditions), "BC");
}

#[test]
fn a_condition_that_the_api_server_would_refuse_is_an_error_and_changes_nothing() {
    let mut conditions = Vec::new();
    let mut refusal = |kind: &str, reason: &str| {
        let refusal = conditions
            .set(NewCondition::is_true(kind, reason), at(0))
            .err();
        assert_eq!(conditions.len(), 0);
        refusal
    };
    for kind in ["", "a b", "-a", "a-", "A.com/b", "a/b/c", "a./b"] {
        assert!(
            matches!(refusal(kind, "R"), Some(ConditionError::Type { .. })),
            "{kind}"
        );
    }
    for reason in ["", "two words", "1st", "A-b", "A:", "Ü"] {
        assert!(
            matches!(
                refusal("Ready", reason),
                Some(ConditionError::Reason { .. })
            ),
            "{reason}"
        );
    }
    assert_eq!(
        refusal("Ready", "all is well").unwrap().to_string(),
        "condition Ready: the reason \"all is well\" must be one word, such as `PodsReady`: a letter, then letters, digits, `_`, `,` and `:`; write sentences into the message"
    );
    for (kind, reason) in [("example.com/Ready_2.x", "A:b,c_"), ("r", "R")] {
        conditions
            .set(NewCondition::is_true(kind, reason), at(0))
            .unwrap();
    }
}

#[test]
fn a_status_that_was_built_anew_keeps_its_transition_times() {
    let one = |kind: &str, status: &str, time: &str| json!({"type": kind, "status": status, "lastTransitionTime": time});
    let present = json!({"conditions": [one("A", "True", "then"), one("B", "True", "then")]});
    let mut status = json!({"conditions": [one("A", "True", "now"), one("B", "False", "now"), one("C", "True", "now")]});
    keep_transitions(&mut status, &present);
    let expected = json!({"conditions": [one("A", "True", "then"), one("B", "False", "now"), one("C", "True", "now")]});
    assert_eq!(status, expected);
}
