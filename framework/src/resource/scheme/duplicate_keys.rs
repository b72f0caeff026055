use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::resource::PathStep;

/// Reads JSON and adds the paths of duplicate keys to a list. The last value of a key counts.
pub(super) struct DuplicateKeys<'a> {
    duplicates: &'a mut Vec<Vec<PathStep>>,
    path: Vec<PathStep>,
}

impl<'a> DuplicateKeys<'a> {
    pub(super) fn new(duplicates: &'a mut Vec<Vec<PathStep>>) -> Self {
        Self {
            duplicates,
            path: Vec::new(),
        }
    }

    fn below(&mut self, step: PathStep) -> DuplicateKeys<'_> {
        let mut path = self.path.clone();
        path.push(step);
        DuplicateKeys {
            duplicates: self.duplicates,
            path,
        }
    }
}

impl<'de> DeserializeSeed<'de> for DuplicateKeys<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<Value, E> {
            Ok(Value::from(value))
        }
    )*};
}

impl<'de> Visitor<'de> for DuplicateKeys<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    plain! {
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str,
        visit_string: String,
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.below(PathStep::Index(items.len())))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let below = self.below(PathStep::Key(key.clone()));
            if pairs.contains_key(&key) {
                below.duplicates.push(below.path.clone());
            }
            pairs.insert(key, map.next_value_seed(below)?);
        }
        Ok(pairs.into())
    }
}
