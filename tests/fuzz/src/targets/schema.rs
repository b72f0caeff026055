//! Checks schemas of CustomResourceDefinitions with CEL rules: an accepted schema never fails later, and a second
//! pruning or defaulting changes nothing.

use pilothouse_sandbox::internals::schema::Schema;
use serde_json::Value;

use crate::input;

pub(crate) fn run(data: &[u8]) {
    let [schema, object, old] = input::parts(data);
    let read = |text| serde_json::from_slice::<Value>(text).ok();
    let Some(json) = read(schema) else {
        return;
    };
    let Ok(schema) = Schema::from_json(&json) else {
        return;
    };
    let written = schema.to_json();
    let again = Schema::from_json(&written).unwrap_or_else(|e| panic!("{written}\n{e:?}"));
    assert_eq!(again.to_json(), written);
    let Some(mut object) = read(object) else {
        return;
    };
    let old = read(old);
    let found = schema.validate(&object, old.as_ref());
    assert_eq!(found, again.validate(&object, old.as_ref()));
    schema.prune(&mut object);
    let pruned = object.clone();
    assert!(schema.prune(&mut object).is_empty());
    assert_eq!(object, pruned, "pruned a second time");
    schema.apply_defaults(&mut object);
    let defaulted = object.clone();
    schema.apply_defaults(&mut object);
    assert_eq!(object, defaulted, "defaulted a second time");
    schema.validate(&object, old.as_ref());
}
