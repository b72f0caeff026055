//! Manifests: reads YAML and JSON into typed objects, and writes them.
//!
//! A [`Scheme`] maps `apiVersion` and `kind` to Rust types. It reads the files that people write: documents with `---`
//! between them, JSON objects one after the other, or a mixture. It splits lists into their items and skips empty
//! documents. Each object becomes a [`Manifest`], or a [`ManifestError`] that names document, line and path. An error does
//! not affect the other objects.
//!
//! YAML means what it means to kubectl, which converts it to JSON by the rules of YAML 1.1. So in a ConfigMap both
//! `data: {port: 80}` and `data: {log: on}` are errors, because `80` is a number and `on` is `true`. Aliases and merge
//! keys (`<<`) are resolved.
//!
//! ```
//! use pilothouse::k8s::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! use pilothouse::resource::{Object, Scheme};
//!
//! let scheme = Scheme::new().with::<ConfigMap>().with::<Deployment>().strict();
//! let text = "
//! apiVersion: v1
//! kind: ConfigMap
//! metadata: {name: settings}
//! data: {colour: blue}
//! ---
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: web}
//! spec: {replica: 3}
//! ";
//! let mut found = scheme.decode(text).into_iter();
//! let settings = found.next().unwrap().unwrap().downcast::<ConfigMap>().unwrap();
//! assert_eq!(settings.name(), "settings");
//! assert_eq!(
//!     found.next().unwrap().unwrap_err().to_string(),
//!     "document 2, line 10: spec.replica: the type has no such field"
//! );
//! ```
//!
//! It follows kubectl's reading of files, and apimachinery's `Scheme` and `YAMLOrJSONDecoder`.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `scheme.rs` | [`Scheme`]: finds the type of each object and reads it |
//! | `document.rs` | splits a text into documents, and parses one into JSON |
//! | `duplicate_keys.rs` | reads JSON and notes duplicate keys |
//! | `conversions.rs` | converts objects between the versions of their kind; [`ConversionError`] |
//! | `manifest.rs` | [`Manifest`] and [`ManifestError`] |
//! | `to_yaml.rs` | [`to_yaml`]: writes objects as YAML |

mod conversions;
#[cfg(test)]
mod conversions_test;
mod document;
mod duplicate_keys;
mod manifest;
mod scheme;
#[cfg(test)]
mod tests;
mod to_yaml;

pub use conversions::ConversionError;
pub use manifest::{Manifest, ManifestError};
pub use scheme::Scheme;
pub use to_yaml::to_yaml;
pub(crate) use to_yaml::whole_numbers;
