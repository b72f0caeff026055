use std::fmt;

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess,
        Visitor, value::UnitDeserializer,
    },
    forward_to_deserialize_any,
};

/// A deserializer of a Kubernetes object that skips `metadata.managedFields`.
///
/// The type gets `null` in their place. That halves the time and the memory of a typical object. This wraps two levels
/// of maps. Everything below is read by the inner deserializer.
pub(super) struct SkipManagedFields<D> {
    inner: D,
    level: Level,
}

#[derive(Clone, Copy)]
enum Level {
    Object,
    Metadata,
    /// Skips nothing. A separate type for this would compile the decoder of each object once more.
    Whole,
}

impl Level {
    fn key(self) -> &'static str {
        match self {
            Self::Object => "metadata",
            Self::Metadata => "managedFields",
            Self::Whole => "",
        }
    }
}

impl<D> SkipManagedFields<D> {
    /// Skips the managed fields unless they are `wanted`.
    pub(super) fn new(inner: D, wanted: bool) -> Self {
        let level = match wanted {
            true => Level::Whole,
            false => Level::Object,
        };
        Self { inner, level }
    }
}

macro_rules! wrapped {
    ($($method:ident($($arg:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self $(, $arg: $type)*, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = LevelVisitor { inner: visitor, level: self.level };
            self.inner.$method($($arg,)* visitor)
        }
    )*};
}

macro_rules! plain {
    ($($method:ident($($arg:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self $(, $arg: $type)*, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($arg,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for SkipManagedFields<D> {
    type Error = D::Error;

    wrapped! {
        deserialize_any() deserialize_map() deserialize_option()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_newtype_struct(name: &'static str)
    }
    plain! {
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
        deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char() deserialize_str()
        deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_unit()
        deserialize_seq() deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

struct LevelVisitor<V> {
    inner: V,
    level: Level,
}

macro_rules! visit {
    ($($method:ident: $type:ty)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for LevelVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool visit_i64: i64 visit_i128: i128 visit_u64: u64 visit_u128: u128
        visit_f64: f64 visit_str: &str visit_borrowed_str: &'de str visit_string: String
        visit_bytes: &[u8] visit_borrowed_bytes: &'de [u8] visit_byte_buf: Vec<u8>
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let level = self.level;
        self.inner.visit_some(SkipManagedFields { inner, level })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let level = self.level;
        self.inner
            .visit_newtype_struct(SkipManagedFields { inner, level })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(seq)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(LevelMap {
            inner,
            level: self.level,
            hit: false,
        })
    }
}

struct LevelMap<A> {
    inner: A,
    level: Level,
    /// Whether the last key is the key of this level.
    hit: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for LevelMap<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.hit = false;
        self.inner.next_key_seed(KeySeed {
            seed,
            wanted: self.level.key(),
            hit: &mut self.hit,
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match (self.hit, self.level) {
            (false, _) | (true, Level::Whole) => self.inner.next_value_seed(seed),
            (true, Level::Object) => self.inner.next_value_seed(MetadataSeed(seed)),
            (true, Level::Metadata) => {
                self.inner.next_value::<IgnoredAny>()?;
                let null: UnitDeserializer<A::Error> = ().into_deserializer();
                seed.deserialize(null)
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

struct MetadataSeed<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MetadataSeed<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(SkipManagedFields {
            inner,
            level: Level::Metadata,
        })
    }
}

/// Reads a key for the type, and records whether it is the wanted one.
struct KeySeed<'a, S> {
    seed: S,
    wanted: &'static str,
    hit: &'a mut bool,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(KeyDeserializer {
            inner,
            wanted: self.wanted,
            hit: self.hit,
        })
    }
}

struct KeyDeserializer<'a, D> {
    inner: D,
    wanted: &'static str,
    hit: &'a mut bool,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for KeyDeserializer<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_identifier(KeyVisitor {
            inner: visitor,
            wanted: self.wanted,
            hit: self.hit,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

struct KeyVisitor<'a, V> {
    inner: V,
    wanted: &'static str,
    hit: &'a mut bool,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KeyVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<V::Value, E> {
        *self.hit = key == self.wanted;
        self.inner.visit_str(key)
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<V::Value, E> {
        *self.hit = key == self.wanted;
        self.inner.visit_borrowed_str(key)
    }

    fn visit_string<E: Error>(self, key: String) -> Result<V::Value, E> {
        *self.hit = key == self.wanted;
        self.inner.visit_string(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{DynamicObject, Object};
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde::Deserialize;

    const OBJECT: &str = r#"{"managedFields":[1],"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:data":{}}}],"labels":{"managedFields":"kept"}},"data":{"metadata":"x"}}"#;

    fn read<'de, T: Deserialize<'de>>(text: &'de str) -> T {
        let mut inner = serde_json::Deserializer::from_str(text);
        T::deserialize(SkipManagedFields::new(&mut inner, false)).unwrap()
    }

    #[test]
    fn only_the_managed_fields_of_the_metadata_are_skipped() {
        let typed: ConfigMap = read(&OBJECT.replacen("\"managedFields\":[1],", "", 1));
        assert_eq!(
            (typed.name(), typed.label("managedFields")),
            ("a", Some("kept"))
        );
        assert!(typed.metadata.managed_fields.is_none());
        assert_eq!(typed.data.unwrap()["metadata"], "x");

        let dynamic: DynamicObject = read(OBJECT);
        assert_eq!(dynamic.name(), "a");
        assert!(dynamic.metadata.managed_fields.is_none());
        assert_eq!(dynamic.data["managedFields"], serde_json::json!([1]));
    }

    #[test]
    fn managed_fields_are_skipped_in_optional_and_wrapped_metadata() {
        #[derive(Deserialize)]
        struct Outer(Inner);
        #[derive(Deserialize)]
        struct Inner {
            metadata: Option<crate::resource::ObjectMeta>,
        }
        let outer: Outer = read(OBJECT);
        assert!(outer.0.metadata.unwrap().managed_fields.is_none());
    }
}
