use regex::Regex;
use serde_json::{Number, Value};

use super::Schema;

/// The value validations of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) required: Vec<Box<str>>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) format: Option<Box<str>>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<Number>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) pattern: Option<(Box<str>, Regex)>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Schema>,
}
