use std::{fmt::Write as _, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::resource::ApiResource;

/// The characters that a path segment keeps: RFC 3986's unreserved characters, and those of Kubernetes' own names.
/// Names with `/` or `%` are refused before.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');
/// The characters that a query keeps.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Checks a name before it becomes a path segment: the rule of apimachinery's `IsValidPathSegmentName`, and not empty.
/// The error says what is wrong.
pub(crate) fn check_segment(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("must not be empty"),
        "." | ".." => Err("must not be `.` or `..`"),
        _ if name.contains('/') => Err("must not contain `/`"),
        _ if name.contains('%') => Err("must not contain `%`"),
        _ => Ok(()),
    }
}

/// Checks an absolute path that the caller has escaped. The error says what is wrong.
pub(crate) fn check_absolute(path: &str) -> Result<(), &'static str> {
    let is_dots = |segment: &str| {
        let decoded = percent_decode_str(segment).decode_utf8_lossy();
        matches!(&*decoded, "." | "..")
    };
    if !path.starts_with('/') {
        return Err("must begin with `/`");
    }
    if path.contains(['?', '#']) {
        return Err("must not contain `?` or `#`: call `query` for each parameter");
    }
    if path.split('/').any(is_dots) {
        return Err("must not contain `.` or `..` as a segment");
    }
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    match path.bytes().all(is_plain) {
        true => Ok(()),
        false => {
            Err("must be escaped: it contains a space or another character that a URL cannot hold")
        }
    }
}

/// The path of a kind, of one object, or of a subresource of that object. The caller has checked all parts with
/// [`check_segment`].
pub(crate) fn path(
    resource: &ApiResource,
    namespace: Option<&str>,
    name: Option<&str>,
    subresource: Option<&str>,
) -> String {
    let mut path = String::with_capacity(96);
    path.push_str(if resource.group.is_empty() {
        "/api"
    } else {
        "/apis"
    });
    let mut segment = |text: &str| {
        path.push('/');
        path.extend(utf8_percent_encode(text, SEGMENT));
    };
    if !resource.group.is_empty() {
        segment(&resource.group);
    }
    segment(&resource.version);
    if let Some(namespace) = namespace {
        segment("namespaces");
        segment(namespace);
    }
    segment(&resource.plural);
    for part in [name, subresource].into_iter().flatten() {
        segment(part);
    }
    path
}

/// A path, and the query that is appended to it.
pub(crate) struct Query {
    text: String,
    first: bool,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self {
            text: path,
            first: true,
        }
    }

    pub(crate) fn text(&mut self, key: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        self.key(key);
        self.text.extend(utf8_percent_encode(value, QUERY));
    }

    /// A parameter whose name the caller chooses.
    pub(crate) fn pair(&mut self, key: &str, value: &str) {
        let key = utf8_percent_encode(key, QUERY).to_string();
        self.text(&key, Some(value));
    }

    pub(crate) fn number(&mut self, key: &str, value: Option<u64>) {
        let Some(value) = value else { return };
        self.key(key);
        let _ = write!(self.text, "{value}");
    }

    /// Whole seconds, rounded up.
    pub(crate) fn seconds(&mut self, key: &str, value: Option<Duration>) {
        let whole = |time: Duration| {
            let begun = u64::from(time.subsec_nanos() > 0);
            time.as_secs().saturating_add(begun)
        };
        self.number(key, value.map(whole));
    }

    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.key(key);
        self.text.push_str(if value { "true" } else { "false" });
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn key(&mut self, key: &str) {
        self.text.push(if self.first { '?' } else { '&' });
        self.first = false;
        self.text.push_str(key);
        self.text.push('=');
    }
}
