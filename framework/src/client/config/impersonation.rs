use std::collections::BTreeMap;

/// The user as whom the client sends requests. The client's own identity must be allowed to impersonate that user.
///
/// ```
/// use pilothouse::client::{Config, Impersonation};
///
/// let auditor = Impersonation::new("jane")
///     .group("auditors")
///     .extra("example.com/reason", ["quarterly audit"]);
/// let config = Config::new("https://host:6443".parse().unwrap()).with_impersonation(auditor);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    pub(crate) user: String,
    pub(crate) uid: Option<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// Impersonates `user`.
    pub fn new(user: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            ..Self::default()
        }
    }

    /// Impersonates the service account `name` of `namespace`. The server adds its groups.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(format!("system:serviceaccount:{namespace}:{name}"))
    }

    /// Adds the user's UID.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Adds a group of the user.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Adds values of an extra key, which authorizers may read. The server converts keys to lower case.
    #[must_use]
    pub fn extra<T: Into<String>>(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let known = self.extra.entry(key.into()).or_default();
        known.extend(values.into_iter().map(Into::into));
        self
    }
}
