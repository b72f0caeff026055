use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::resource::Step;

/// Reads JSON and notes where keys are there twice; the last one counts.
pub(super) struct Unique<'a> {
    duplicates: &'a mut Vec<Vec<Step>>,
    path: Vec<Step>,
}

impl<'a> Unique<'a> {
    pub(super) fn new(duplicates: &'a mut Vec<Vec<Step>>) -> Self {
        Self {
            duplicates,
            path: Vec::new(),
        }
    }

    fn below(&mut self, step: Step) -> Unique<'_> {
        let mut path = self.path.clone();
        path.push(step);
        Unique {
            duplicates: self.duplicates,
            path,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
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

impl<'de> Visitor<'de> for Unique<'_> {
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
        while let Some(item) = seq.next_element_seed(self.below(Step::Index(items.len())))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let below = self.below(Step::Key(key.clone()));
            if pairs.contains_key(&key) {
                below.duplicates.push(below.path.clone());
            }
            pairs.insert(key, map.next_value_seed(below)?);
        }
        Ok(pairs.into())
    }
}
