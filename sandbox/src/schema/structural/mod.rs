//! What the API server requires of the schema in a CustomResourceDefinition before it accepts it.
//!
//! | file | what it checks |
//! | --- | --- |
//! | `read.rs` | the order of the checks; `Schema::from_json` |
//! | `keywords.rs` | keywords that a structural schema must not have, and their values |
//! | `invariants.rs` | types, patterns and the rules between keywords |
//! | `complete.rs` | what is specified inside of `allOf`, `anyOf`, `oneOf` and `not` is specified outside, too |
//! | `lists.rs` | list types and their keys |
//! | `rules.rs`, `costs.rs` | CEL rules, and what they cost |
//! | `defaults.rs` | defaults fit their schema |
//! | `json.rs` | access to the JSON of a schema |

mod complete;
mod costs;
mod defaults;
mod invariants;
mod json;
mod keywords;
mod lists;
mod read;
mod rules;
