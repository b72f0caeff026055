//! The policies of a Job for Pods that fail, and for its success before all completions.

use serde_json::Value;

use super::indexes::Indexes;
use crate::meta;

/// What the `podFailurePolicy` of a Job says about a failed Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The failure counts.
    Count,
    /// The failure does not count.
    Ignore,
    /// The index of the Pod has failed.
    FailIndex,
    /// The Job has failed, with this message.
    FailJob(String),
}

/// The verdict about a failed Pod: that of the first rule that matches it.
pub(super) fn failure(spec: &Value, pod: &Value) -> Verdict {
    let rules = spec
        .pointer("/podFailurePolicy/rules")
        .and_then(Value::as_array);
    let place = format!("{}/{}", meta::text(pod, "namespace"), meta::name(pod));
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        let action = rule["action"].as_str().unwrap_or_default();
        let cause = if rule["onExitCodes"].is_object() {
            exit(&rule["onExitCodes"], pod).map(|(container, code)| {
                format!("Container {container} for pod {place} failed with exit code {code}")
            })
        } else {
            condition(&rule["onPodConditions"], pod)
                .map(|kind| format!("Pod {place} has condition {kind}"))
        };
        if let Some(cause) = cause {
            return match action {
                "Ignore" => Verdict::Ignore,
                "FailIndex" => Verdict::FailIndex,
                "FailJob" => {
                    Verdict::FailJob(format!("{cause} matching {action} rule at index {at}"))
                }
                _ => Verdict::Count,
            };
        }
    }
    Verdict::Count
}

/// The first container that exited with a code that the rule is for.
fn exit<'a>(rule: &Value, pod: &'a Value) -> Option<(&'a str, i64)> {
    let codes = rule["values"].as_array()?;
    let lists = ["containerStatuses", "initContainerStatuses"];
    let statuses = lists
        .into_iter()
        .filter_map(|list| pod["status"][list].as_array())
        .flatten();
    for status in statuses {
        let name = status["name"].as_str().unwrap_or_default();
        let Some(code) = status["state"]["terminated"]["exitCode"].as_i64() else {
            continue;
        };
        let named = rule["containerName"].as_str().is_none_or(|own| own == name);
        let listed = codes.iter().any(|known| known.as_i64() == Some(code));
        let wanted = rule["operator"] == "In";
        if named && code != 0 && listed == wanted {
            return Some((name, code));
        }
    }
    None
}

/// The first condition of the Pod that the rule is for.
fn condition<'a>(patterns: &Value, pod: &'a Value) -> Option<&'a str> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    let matches = |condition: &&Value| {
        let mut patterns = patterns.as_array().into_iter().flatten();
        patterns.any(|pattern| {
            let status = pattern["status"].as_str().unwrap_or("True");
            pattern["type"] == condition["type"] && condition["status"] == status
        })
    };
    conditions.iter().find(matches)?["type"].as_str()
}

/// The message of the first rule of the `successPolicy` that these indexes fulfil.
pub(super) fn success(spec: &Value, succeeded: &Indexes) -> Option<String> {
    let rules = spec.pointer("/successPolicy/rules")?.as_array()?;
    let completions = spec["completions"].as_i64().unwrap_or_default();
    if succeeded.count() == 0 {
        return None;
    }
    let fulfilled = |rule: &Value| {
        let least = rule["succeededCount"].as_i64();
        match rule["succeededIndexes"].as_str() {
            Some(text) => {
                let wanted = Indexes::parse(text, completions);
                let common = wanted.common(succeeded);
                wanted.count() > 0
                    && (common == wanted.count() || least.is_some_and(|least| common >= least))
            }
            None => least.is_some_and(|least| succeeded.count() >= least),
        }
    };
    let at = rules.iter().position(fulfilled)?;
    Some(format!("Matched rules at index {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_rule_that_matches_a_failed_pod_decides() {
        let spec = json!({"podFailurePolicy": {"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42], "containerName": "main"}},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1]}},
        ]}});
        let pod = |code: i64, container: &str| {
            let state = json!({"terminated": {"exitCode": code}});
            json!({"metadata": {"name": "a", "namespace": "b"},
                "status": {"containerStatuses": [{"name": container, "state": state}]}})
        };
        assert_eq!(failure(&spec, &pod(1, "main")), Verdict::Count);
        assert_eq!(failure(&spec, &pod(42, "other")), Verdict::FailIndex);
        let text =
            "Container main for pod b/a failed with exit code 42 matching FailJob rule at index 1";
        assert_eq!(
            failure(&spec, &pod(42, "main")),
            Verdict::FailJob(text.into())
        );
        let mut evicted = pod(42, "main");
        evicted["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": "True"}]);
        assert_eq!(failure(&spec, &evicted), Verdict::Ignore);
    }

    #[test]
    fn a_success_policy_asks_for_indexes_or_for_a_number_of_them() {
        let spec = json!({"completions": 6, "successPolicy": {"rules": [
            {"succeededIndexes": "0-2", "succeededCount": 2}, {"succeededCount": 4},
        ]}});
        let of = |text: &str| success(&spec, &Indexes::parse(text, 6));
        assert_eq!(of(""), None);
        assert_eq!(of("0,3-4"), None);
        assert_eq!(of("0,2").as_deref(), Some("Matched rules at index 0"));
        assert_eq!(of("0,3-5").as_deref(), Some("Matched rules at index 1"));
    }
}
