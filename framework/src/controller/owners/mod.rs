//! From a child to its owner.
//!
//! A child in the owner's namespace has an owner reference. A detached child (in another namespace, or cluster-scoped while
//! the owner is not) has a label and an annotation instead, because Kubernetes allows no reference there.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `owner_references.rs` | the keys that the owner references of a child lead to |
//! | `owner_mark.rs` | the label and the annotation on a detached child |

mod owner_mark;
mod owner_references;

pub use owner_mark::{OWNER_ANNOTATION, OWNER_UID_LABEL};
pub(crate) use owner_mark::{
    OwnerMark, is_annotated_by, is_child_at, is_detached_child, is_left_child, is_marked_by,
};
pub(crate) use owner_references::{References, is_of_another, owners};
