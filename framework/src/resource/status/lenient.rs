use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::{StatusCause, StatusDetails};
use crate::resource::ListMeta;

/// Reads a field of a [`Status`](super::Status). Returns the default of `T` if the field has another type.
///
/// A server that gets one detail wrong must not hide the code, the reason and the message. A value that does not fit is
/// skipped at any depth.
pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Lenient<'de>,
{
    deserializer.deserialize_any(AnyForm(PhantomData))
}

/// The value that a type makes of text, a number, a list or a map. The default of each method is the type's default.
pub(super) trait Lenient<'de>: Default {
    fn text(_: &str) -> Self {
        Self::default()
    }

    fn number(_: i128) -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Lenient<'_> for String {
    fn text(text: &str) -> Self {
        text.to_owned()
    }
}

impl Lenient<'_> for Option<String> {
    fn text(text: &str) -> Self {
        Some(text.to_owned())
    }
}

impl Lenient<'_> for Option<i64> {
    fn number(number: i128) -> Self {
        number.try_into().ok()
    }
}

/// A number out of range becomes 0, which means unknown.
impl Lenient<'_> for u16 {
    fn number(number: i128) -> Self {
        number.try_into().unwrap_or_default()
    }
}

/// A number below the range becomes 0, one above it the largest value.
impl Lenient<'_> for u32 {
    fn number(number: i128) -> Self {
        let number = number.clamp(0, Self::MAX.into());
        number.try_into().unwrap_or_default()
    }
}

impl<'de> Lenient<'de> for Vec<StatusCause> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut causes = Self::new();
        while let Some(LenientMap(cause)) = list.next_element()? {
            causes.push(cause);
        }
        Ok(causes)
    }
}

impl<'de> Lenient<'de> for StatusCause {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de> Lenient<'de> for Option<StatusDetails> {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        StatusDetails::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

impl<'de> Lenient<'de> for ListMeta {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Fields {
            #[serde(rename = "continue", deserialize_with = "lenient")]
            continue_: Option<String>,
            #[serde(deserialize_with = "lenient")]
            remaining_item_count: Option<i64>,
            #[serde(deserialize_with = "lenient")]
            resource_version: Option<String>,
            #[serde(deserialize_with = "lenient")]
            self_link: Option<String>,
        }
        let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Self {
            continue_: fields.continue_,
            remaining_item_count: fields.remaining_item_count,
            resource_version: fields.resource_version,
            self_link: fields.self_link,
            ..Self::default()
        })
    }
}

struct LenientMap<T>(T);

impl<'de, T: Lenient<'de>> Deserialize<'de> for LenientMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer).map(Self)
    }
}

struct AnyForm<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for AnyForm<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Ok(T::number(number as i128))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }
}
