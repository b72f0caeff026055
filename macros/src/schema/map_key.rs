use syn::{Data, Fields};

use super::serde::Serde;
use crate::shape::Shape;

/// Whether serde writes each value of the type as a string: an enum of plain names, or a struct around a string.
pub(super) fn is_map_key(data: &Data, serde: &Serde) -> bool {
    if ["tag", "untagged", "from", "try_from", "into"]
        .iter()
        .any(|name| serde.has(name))
    {
        return false;
    }
    match data {
        Data::Enum(data) => data
            .variants
            .iter()
            .all(|variant| matches!(variant.fields, Fields::Unit)),
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(fields) => fields.unnamed.iter().all(|field| {
                Serde::of(&field.attrs).conversion().is_none()
                    && Shape::of(&field.ty) == Shape::Text
                    && crate::shape::optional(&field.ty).is_none()
            }),
            Fields::Named(_) | Fields::Unit => false,
        },
        Data::Union(_) => false,
    }
}
