//! The kind Bookcase of the group library.example.com, which another program defines.
//!
//! `cargo pilothouse import` wrote the types from the definition `bookcases.library.example.com`.

// The comments are those of the definition.
#![allow(
    missing_docs,
    rustdoc::all,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items
)]

use std::collections::BTreeMap;

use pilothouse::{
    Resource,
    k8s::apimachinery::pkg::{
        apis::meta::v1::{Condition, LabelSelector, Time},
        util::intstr::IntOrString,
    },
    resource::ObjectMeta,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A bookcase with its boards.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
#[resource(
    group = "library.example.com",
    version = "v1",
    plural = "bookcases",
    namespaced,
    foreign
)]
pub struct Bookcase {
    pub metadata: ObjectMeta,
    pub spec: BookcaseSpec,
    pub status: Option<BookcaseStatus>,
}

/// The value of `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BookcaseSpec {
    #[serde(rename = "X_owner", skip_serializing_if = "Option::is_none")]
    pub x_owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anything: Option<Value>,
    pub boards: Vec<Board>,
    #[serde(rename = "clusterIPs", skip_serializing_if = "Option::is_none")]
    pub cluster_ips: Option<Vec<String>>,
    /// The default is `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub light: Option<Light>,
    /// A quantity, such as `500m` or `2Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<IntOrString>,
    /// Any value, because the schema has both fields and keys of any name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    /// Where it stands.
    ///
    /// A line that looks like code.
    pub room: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<BTreeMap<String, Value>>,
    /// The material.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_: Option<BookcaseType>,
    #[serde(rename = "x-owner", skip_serializing_if = "Option::is_none")]
    pub x_owner_2: Option<String>,
}

/// A board of the bookcase.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Board {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<BoardOption>,
    #[serde(rename = "option_", skip_serializing_if = "Option::is_none")]
    pub option_2: Option<BookcaseBoardOption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_: Option<BoardType>,
    /// The fields that the schema does not name.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// The value of `spec.boards.option`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BoardOption {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The value of `spec.boards.type`.
#[derive(Clone, Debug, Copy, Eq, PartialEq, Deserialize, Serialize)]
pub enum BoardType {
    #[serde(rename = "open")]
    Open,
    #[serde(rename = "closed")]
    Closed,
}

/// The value of `spec.boards.option_`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookcaseBoardOption {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// The value of `spec.light`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Light {}

/// The value of `spec.type`.
#[derive(Clone, Debug, Copy, Eq, PartialEq, Deserialize, Serialize)]
pub enum BookcaseType {
    #[serde(rename = "wood")]
    Wood,
    #[serde(rename = "steel-plate")]
    SteelPlate,
    #[serde(rename = "")]
    Empty,
    #[serde(rename = "2by4")]
    V2by4,
}

/// The value of `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookcaseStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
