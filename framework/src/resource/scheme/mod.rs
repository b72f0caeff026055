//! Manifests: from YAML and JSON to typed objects, and back.
//!
//! A [`Scheme`] knows kinds by their `apiVersion` and `kind`. It reads what people keep in files: several
//! documents with `---` between them, or JSON objects one after the other, or both mixed; lists are taken
//! apart, documents with nothing in them are left out. Each object is a [`Manifest`], or a
//! [`ManifestError`] that names document, line and path; one of them does not spoil the others.
//!
//! YAML is read as kubectl reads it: into JSON first, and by YAML 1.1. So `data: {port: 80}` in a ConfigMap is an error,
//! because 80 is a number, and `data: {log: on}`, because that is `true`. Aliases and merge keys (`<<`) are resolved.
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
//! Source: kubectl's reading of files, apimachinery's `Scheme` and `YAMLOrJSONDecoder`.

mod document;
mod error;
mod manifest;
mod scheme;
#[cfg(test)]
mod tests;
mod unique;
mod write;

pub use error::ManifestError;
pub use manifest::Manifest;
pub use scheme::Scheme;
pub use write::to_yaml;
