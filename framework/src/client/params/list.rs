use std::time::Duration;

use super::checks;
use crate::client::request::url::Query;

/// What to list, and at which resource version.
///
/// The default lists everything, consistently, in one answer. Selectors are text or values
/// ([`Selector`](crate::resource::Selector), [`FieldSelector`](crate::resource::FieldSelector)). If the server would
/// refuse the options, the client refuses the request before it sends it.
///
/// The methods set the options. The fields are there for a [`ListerWatcher`](crate::cache::ListerWatcher) to read.
///
/// ```
/// use pilothouse::{client::ListParams, resource::{FieldSelector, Selector}};
///
/// let web = Selector::default().eq("app", "web").exists("tier");
/// let params = ListParams::default().labels(web).fields("status.phase=Running").limit(100);
/// assert_eq!(params.label_selector.as_deref(), Some("app=web,tier"));
///
/// let cached = ListParams::default().any_version();
/// let fresh_enough = ListParams::default().not_older_than("4711");
/// # let _ = (cached, fresh_enough, FieldSelector::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListParams {
    /// Only objects whose labels match, as kubectl's `-l`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, such as `spec.nodeName=node-1`.
    pub field_selector: Option<String>,
    /// At most this many objects. The rest follows with the list's `continue` token.
    ///
    /// A server may ignore the limit: an API server does so when it answers from its cache (resource version `"0"`). The client
    /// reads at most 1 GiB of an answer, and the objects need a multiple of that. So give a program that lists large
    /// collections enough memory for all of them at once.
    pub limit: Option<u32>,
    /// The `continue` token of the page before.
    pub continue_token: Option<String>,
    /// The answer is at least as new as this version. `"0"` accepts any version that the server has in its cache.
    pub resource_version: Option<String>,
    /// How the server uses [`resource_version`](Self::resource_version). If `None`, a page with a limit has exactly
    /// that version, and a whole list is not older.
    pub resource_version_match: Option<VersionMatch>,
    /// The server gives up after this time; its own default is a minute. Sent in whole seconds, rounded up.
    pub timeout: Option<Duration>,
    /// Only this shard of the objects, in the form of the server's `shardSelector` (KEP-5866). Servers without the
    /// feature ignore it: check the list's `metadata.shardInfo`.
    pub shard_selector: Option<String>,
}

/// How the server uses the resource version of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly that version, or 410 if the server no longer has it.
    Exact,
    /// That version or any later one.
    NotOlderThan,
}

impl ListParams {
    /// Only objects whose labels match `selector`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects whose fields match `selector`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// At most `limit` objects in one answer.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Requests the page after the one with `token`.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Accepts an answer of `version` or later.
    #[must_use]
    pub fn at(mut self, version: impl Into<String>) -> Self {
        self.resource_version = Some(version.into());
        self
    }

    /// Accepts only an answer of exactly `version`. The server answers 410 if it no longer has it.
    #[must_use]
    pub fn exactly(self, version: impl Into<String>) -> Self {
        self.at(version).version_match(VersionMatch::Exact)
    }

    /// Accepts an answer of `version` or later, also for a single page.
    #[must_use]
    pub fn not_older_than(self, version: impl Into<String>) -> Self {
        self.at(version).version_match(VersionMatch::NotOlderThan)
    }

    /// Accepts any version that the server has in its cache. Costs the server least, but may be old.
    #[must_use]
    pub fn any_version(self) -> Self {
        self.at("0")
    }

    /// The server gives up after `timeout`, rounded up to seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Only this shard of the objects.
    #[must_use]
    pub fn shard(mut self, selector: impl Into<String>) -> Self {
        self.shard_selector = Some(selector.into());
        self
    }

    /// Sets how the server uses the resource version.
    #[must_use]
    pub fn version_match(mut self, how: VersionMatch) -> Self {
        self.resource_version_match = Some(how);
        self
    }

    /// Refuses what the server would refuse (apimachinery's `ValidateListOptions`).
    fn check(&self) -> Result<(), String> {
        checks::selectors(
            self.label_selector.as_deref(),
            self.field_selector.as_deref(),
        )?;
        let version = checks::given(self.resource_version.as_deref());
        if checks::given(self.continue_token.as_deref()).is_some() {
            if self.resource_version_match.is_some() {
                return Err("a continue token holds its version already: leave the resource version match out".into());
            }
            if version.is_some_and(|version| version != "0") {
                return Err(
                    "a continue token holds its version already: leave the resource version out"
                        .into(),
                );
            }
        }
        match (self.resource_version_match, version) {
            (Some(_), None) => {
                Err("a resource version match says how a resource version is meant: give one".into())
            }
            (Some(VersionMatch::Exact), Some("0")) => Err(
                "resource version \"0\" means any version, which none can be exactly: use `any_version`"
                    .into(),
            ),
            _ => Ok(()),
        }
    }

    pub(in crate::client) fn write(&self, query: &mut Query) -> Result<(), String> {
        self.check()?;
        query.text("labelSelector", self.label_selector.as_deref());
        query.text("fieldSelector", self.field_selector.as_deref());
        query.number("limit", self.limit.map(u64::from));
        query.text("continue", self.continue_token.as_deref());
        query.text("resourceVersion", self.resource_version.as_deref());
        let how = self.resource_version_match.map(|how| match how {
            VersionMatch::Exact => "Exact",
            VersionMatch::NotOlderThan => "NotOlderThan",
        });
        query.text("resourceVersionMatch", how);
        query.seconds("timeoutSeconds", self.timeout);
        query.text("shardSelector", self.shard_selector.as_deref());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(params: &ListParams) -> Result<String, String> {
        let mut query = Query::new(String::new());
        params.write(&mut query).map(|()| query.finish())
    }

    #[test]
    fn a_list_sends_its_version_with_and_without_a_limit() {
        let params = ListParams::default;
        for (params, query) in [
            (params(), ""),
            (params().any_version(), "?resourceVersion=0"),
            (
                params().any_version().limit(500),
                "?limit=500&resourceVersion=0",
            ),
            (
                params().exactly("7").limit(5),
                "?limit=5&resourceVersion=7&resourceVersionMatch=Exact",
            ),
            (
                params().not_older_than("7"),
                "?resourceVersion=7&resourceVersionMatch=NotOlderThan",
            ),
            (
                params()
                    .any_version()
                    .version_match(VersionMatch::NotOlderThan),
                "?resourceVersion=0&resourceVersionMatch=NotOlderThan",
            ),
            (
                params().continue_token("t").at("0"),
                "?continue=t&resourceVersion=0",
            ),
            (
                params().timeout(Duration::from_millis(1500)).shard("s"),
                "?timeoutSeconds=2&shardSelector=s",
            ),
        ] {
            assert_eq!(written(&params).unwrap(), query);
        }
    }

    #[test]
    fn invalid_options_are_refused_before_the_request() {
        let params = ListParams::default;
        for (params, problem) in [
            (
                params().version_match(VersionMatch::Exact),
                "a resource version match says how a resource version is meant: give one",
            ),
            (
                params().exactly("0"),
                "resource version \"0\" means any version, which none can be exactly: use `any_version`",
            ),
            (
                params().continue_token("t").exactly("7"),
                "a continue token holds its version already: leave the resource version match out",
            ),
            (
                params().continue_token("t").at("7"),
                "a continue token holds its version already: leave the resource version out",
            ),
            (
                params().labels("app in (a"),
                "label selector `app in (a`: expected `,` or `)`, found the end",
            ),
            (
                params().fields("spec.nodeName"),
                "field selector `spec.nodeName`: `spec.nodeName` is not of the form `field=value` or `field!=value`",
            ),
        ] {
            assert_eq!(written(&params).unwrap_err(), problem);
        }
    }
}
