//! The requests of the client.

use std::collections::BTreeMap;

use serde_json::Value;

/// A request, split into its API parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) body: Value,
    /// The number of the request since the server turned hostile, from 1.
    pub(crate) number: usize,
}

impl Asked {
    pub(crate) fn new(method: &str, target: &str, body: &[u8]) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter_map(|pair| pair.split_once('='));
        let decoded = |text: &str| {
            let text = percent_encoding::percent_decode_str(text);
            text.decode_utf8_lossy().into_owned()
        };
        let mut asked = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query
                .map(|(name, value)| (name.to_owned(), decoded(value)))
                .collect(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            ..Self::default()
        };
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let rest = match parts.first() {
            Some(&"api") => parts.get(2..),
            Some(&"apis") => parts.get(3..),
            _ => None,
        };
        let mut rest = rest.unwrap_or_default();
        if let ["namespaces", namespace, others @ ..] = rest
            && !others.is_empty()
        {
            asked.namespace = Some(decoded(namespace));
            rest = others;
        }
        asked.plural = rest.first().map(|part| decoded(part)).unwrap_or_default();
        asked.name = rest.get(1).map(|part| decoded(part));
        asked.subresource = rest.get(2).map(|part| decoded(part));
        asked
    }

    fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// Whether the request is for the kind that the operator watches.
    pub(crate) fn is_of_widgets(&self) -> bool {
        self.plural == "widgets"
    }

    /// Whether it is a watch, with or without the initial state.
    pub(crate) fn is_watch(&self) -> bool {
        matches!(self.query("watch"), "1" | "true")
    }

    /// Whether it is a watch that starts with the present state.
    pub(crate) fn is_streamed_list(&self) -> bool {
        self.is_watch() && self.query("sendInitialEvents") == "true"
    }

    /// Whether it is a watch from a version.
    pub(crate) fn is_plain_watch(&self) -> bool {
        self.is_watch() && !self.is_streamed_list()
    }

    /// Whether it is a paged list.
    pub(crate) fn is_list(&self) -> bool {
        self.method == "GET" && self.name.is_none() && !self.is_watch() && !self.plural.is_empty()
    }

    /// Whether it is a list, paged or streamed.
    pub(crate) fn is_any_list(&self) -> bool {
        self.is_list() || self.is_streamed_list()
    }

    /// Whether it changes an object.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// Returns the requested version, or 0 if the request names no version.
    pub(crate) fn version(&self) -> u64 {
        self.query("resourceVersion").parse().unwrap_or_default()
    }

    /// Whether this server could have returned the requested version.
    pub(crate) fn has_version(&self) -> bool {
        let version = self.query("resourceVersion");
        version.is_empty() || version.parse::<u64>().is_ok()
    }

    /// Returns the continue token of the request.
    pub(crate) fn next(&self) -> &str {
        self.query("continue")
    }

    /// Returns the requested timeout of a watch in seconds.
    pub(crate) fn seconds(&self) -> u64 {
        self.query("timeoutSeconds").parse().unwrap_or(300)
    }

    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}
