//! The versions of a kind, and lossless conversions between them.
//!
//! A kind has one stored version, whose type names the other ones: `#[resource(.., served(v1alpha1::Website))]`. The program
//! converts between the types with `From` or `TryFrom`. [`Versions::convert`] uses these conversions for objects in JSON.
//!
//! # What a version cannot express
//! Each conversion is followed by the way back, and both objects are compared. The fields that differ are kept in the annotation
//! `conversion.pilothouse.dev/<version>` of the converted object, each with its value and with the value that the way back made of
//! it. The next conversion to that version puts a kept value back if the field still has the value of the way back. Otherwise
//! somebody has changed the field meanwhile, and the change wins. In lists this holds for each item: items are the same if
//! they have the same `name`, `type`, `key` or `id`, or without such a field if they are equal.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `typed.rs` | the conversion between two types, for objects in JSON |
//! | `content.rs` | the part of an object that a conversion may change |
//! | `kept.rs` | the fields that a version cannot express, as an annotation |
//! | `lists.rs` | which items of two lists are the same |
//! | `merge.rs` | puts kept values back |
//! | `versions.rs` | [`Versions`] |

mod content;
mod kept;
mod lists;
mod merge;
mod typed;
mod versions;

pub use kept::KEPT_PREFIX;
pub use typed::{ConvertsTo, check_distinct, check_version, converted_version, renamed_version};
pub use versions::Versions;

#[cfg(feature = "dev")]
pub(crate) use content::content;
#[cfg(feature = "dev")]
pub(crate) use kept::kept_fields;
