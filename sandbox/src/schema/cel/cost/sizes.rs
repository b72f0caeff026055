use std::rc::Rc;

use crate::schema::cel::declare::Declared;
use crate::schema::cel::types::{OPTIONAL, Type};

use super::range::Range;

/// The place of a value below a variable: fields, [`ITEMS`], [`VALUES`] and [`KEYS`].
pub(super) type Place = Rc<[Rc<str>]>;

pub(super) const ITEMS: &str = "@items";
pub(super) const VALUES: &str = "@values";
pub(super) const KEYS: &str = "@keys";
pub(super) const INDICES: &str = "@indices";

/// The place of a part of the value at a place.
pub(super) fn below(place: &Place, part: &str) -> Place {
    place.iter().cloned().chain([part.into()]).collect()
}

/// The largest size of a value at a place, by the schema of `self`.
///
/// Like the server, it does not look at the name of the variable: the first part is always `self`.
pub(super) fn declared(root: &Declared, place: &Place) -> Option<Range> {
    let (_, parts) = place.split_first()?;
    let mut at = root;
    for part in parts {
        at = match &**part {
            ITEMS | VALUES => at.inner.as_ref()?,
            // The keys of maps are text without a limit of their own.
            KEYS => match (&at.kind, &at.inner) {
                (Type::Made(made), Some(_)) if made.parameters.len() == 2 => {
                    return (parts.last() == Some(part)).then_some(Range::ZERO);
                }
                _ => return None,
            },
            field => match &at.kind {
                Type::Object(object) => object.fields.get(field)?,
                _ => return None,
            },
        };
    }
    Some(Range::to(at.largest))
}

/// The size of a value that has the same size for every value of its type.
pub(super) fn fixed(of: &Type) -> Option<Range> {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
            Some(Range::of(1))
        }
        other => fixed(other.parameters(OPTIONAL)?.first()?),
    }
}
