use serde_json::{Map, Value};

/// Field names that differ between the two APIs: core/v1, events.k8s.io/v1.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The core/v1 form of an events.k8s.io/v1 Event. A server stores both as one object under one name.
pub(crate) fn event_to_core(event: &Value) -> Value {
    convert(event, "v1", |key| {
        RENAMED
            .iter()
            .find(|(_, new)| *new == key)
            .map(|(old, _)| *old)
    })
}

/// The events.k8s.io/v1 form of a core/v1 Event.
pub(super) fn event_from_core(event: &Value) -> Value {
    convert(event, "events.k8s.io/v1", |key| {
        RENAMED
            .iter()
            .find(|(old, _)| *old == key)
            .map(|(_, new)| *new)
    })
}

fn convert(
    event: &Value,
    api_version: &str,
    rename: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let Value::Object(fields) = event else {
        return event.clone();
    };
    let mut out = Map::new();
    for (key, value) in fields {
        let key = key.as_str();
        let (key, value) = match key {
            "apiVersion" => (key, Value::String(api_version.to_owned())),
            _ => (rename(key).unwrap_or(key), value.clone()),
        };
        out.insert(key.to_owned(), value);
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_the_same_after_both_conversions() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"}, "message": "hello", "count": 2,
            "source": {"component": "c"}, "reportingComponent": "c", "reportingInstance": "i",
            "firstTimestamp": "2024-01-01T00:00:00Z", "reason": "R", "type": "Normal",
        });
        let new = event_from_core(&core);
        assert_eq!(new["regarding"]["name"], "p");
        assert_eq!(new["note"], "hello");
        assert_eq!(new["reportingController"], "c");
        assert_eq!(new["deprecatedCount"], 2);
        assert_eq!(event_to_core(&new), core);
    }
}
