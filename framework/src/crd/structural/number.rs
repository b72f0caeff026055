use serde_json::{Map, Value, json};

/// Translates Rust's integer formats into `int32` or `int64` with the type's bounds, and an exclusive bound into OpenAPI's
/// two keys.
pub(super) fn translate(map: &mut Map<String, Value>) {
    if map.get("type").and_then(Value::as_str) == Some("integer") {
        integer(map);
    }
    for (exclusive, inclusive) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(bound) = map
            .get(exclusive)
            .filter(|bound| bound.is_number())
            .cloned()
        {
            map.insert(inclusive.into(), bound);
            map.insert(exclusive.into(), true.into());
        }
    }
}

fn integer(map: &mut Map<String, Value>) {
    let format = map
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (format, min, max): (_, Option<i64>, Option<i64>) = match format {
        "int8" => ("int32", Some(i8::MIN.into()), Some(i8::MAX.into())),
        "int16" => ("int32", Some(i16::MIN.into()), Some(i16::MAX.into())),
        "uint8" => ("int32", Some(0), Some(u8::MAX.into())),
        "uint16" => ("int32", Some(0), Some(u16::MAX.into())),
        "uint32" => ("int64", Some(0), Some(u32::MAX.into())),
        // A server reads a larger number as a float, which loses digits. The bound is the largest float below 2^63.
        "uint64" | "uint" => ("int64", Some(0), Some(9_223_372_036_854_774_784)),
        "int32" => ("int32", None, None),
        "int64" | "int" => ("int64", None, None),
        _ => return,
    };
    map.insert("format".into(), format.into());
    for (key, exclusive, bound) in [
        ("minimum", "exclusiveMinimum", min),
        ("maximum", "exclusiveMaximum", max),
    ] {
        if let Some(bound) = bound
            && !map.contains_key(exclusive)
        {
            map.entry(key).or_insert(json!(bound));
        }
    }
}
