use std::{error::Error as StdError, fmt, time::Duration};

use super::class::{FailureClass, FailureDuration};
use crate::{
    controller::action::Action, health::CaughtPanic, queue::Priority, resource::ObjectKey,
};

/// If a call waits, or does not prune, because it read an object that does not decode, the next call comes within this time: the
/// change of that object may lead to the reconcile of others only.
pub(crate) const UNDECODABLE_RECHECK: Duration = Duration::from_secs(30);

/// What reconcilers return: an [`Action`](crate::controller::Action) or a [`Failure`], or other types if they are given.
pub type Result<T = crate::controller::action::Action, E = Failure> = std::result::Result<T, E>;

/// Why a reconcile failed, and whether and when the key is retried.
///
/// `?` converts any error into a `Failure`: each error type, `Box<dyn Error + Send + Sync>`, `String`, `&'static str`, and, with
/// the feature `anyhow`, `anyhow::Error`. By default the key is retried with backoff, and not before the time that the API
/// server asked for. `Failure` is not an [`Error`](StdError) itself: otherwise `?` could not convert.
///
/// What lasts until a person changes something is retried slowly: after 1 s, 2 s, 4 s, and so on up to 300 s. This is a
/// request that the API server refuses (403 and 422), and a child that belongs to others
/// ([`Error::OwnedByAnother`](super::Error::OwnedByAnother) and [`Error::NotAdopted`](super::Error::NotAdopted)).
/// [`retry_after`](Self::retry_after) overrides this. Such an error is also found if it is only a cause of the error
/// ([`source`](StdError::source)).
///
/// A status that the schema of its kind refuses ([`Error::StatusRefused`](super::Error::StatusRefused)), and a child that has failed
/// ([`Readiness::Failed`](crate::resource::Readiness::Failed)), are [terminal](Self::terminal).
///
/// A failure that only [waits](Self::waiting) does not count as a failure: it ends the call as [`Action::wait`](crate::controller::Action::wait) does.
/// [`Error::Undecodable`](super::Error::Undecodable) waits until the object decodes. Its change may lead to no reconcile, so the next
/// call comes within 30 s.
///
/// The text names the RBAC rule that is missing (the client's [hint](crate::client::Error::hint)). It leaves out the API server's
/// message about a Secret, because such a message may quote a value.
///
/// ```
/// use pilothouse::controller::{Failure, Result};
///
/// fn parse(text: &str) -> Result<u32> {
///     // No retry helps before the object changes.
///     text.parse().map_err(|error| Failure::from(error).terminal())
/// }
/// assert!(parse("x").unwrap_err().is_terminal());
/// ```
pub struct Failure {
    error: Box<dyn StdError + Send + Sync>,
    class: FailureClass,
}

impl Failure {
    /// A failure with only a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            error: text.into().into(),
            class: FailureClass::default(),
        }
    }

    /// The end of a call that waits for a change: nothing went wrong, but the rest of the call has to come later. `reason` says
    /// what it waits for. A child that is not ready ends a call in this way:
    /// [`ready_or_wait`](crate::resource::HasReadiness::ready_or_wait).
    ///
    /// This is no failure: there is no retry, no backoff, no Warning Event and no error in the metrics. The condition `Ready` of the
    /// object is `False` with reason `ReconcileWaiting` (`CleanupWaiting` in a cleanup) and the text as its message, and the level `debug` logs it. Unlike after
    /// [`Action::wait`](crate::controller::Action::wait) nothing is pruned, because the call has not come to the later children, and a cleanup is not done:
    /// the finalizer stays.
    ///
    /// The next call comes when something changes. So what the call waits for must lead to a reconcile. In
    /// [`deleted`](crate::controller::Reconciler::deleted) it is a failure, because an object that is gone does not change.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pilothouse::{controller::{Context, Failure, Result}, k8s::api::{apps::v1::Deployment, core::v1::Secret}};
    /// /// The password. With `.watches::<Secret>(..)` in `wire`.
    /// fn password(cx: &Context<Deployment>) -> Result<Arc<Secret>> {
    ///     let secret = cx.get::<Secret>("password")?;
    ///     secret.ok_or_else(|| Failure::waiting("the Secret password does not exist yet"))
    /// }
    /// ```
    pub fn waiting(reason: impl Into<String>) -> Self {
        let mut failure = Self::new(reason);
        failure.class.waiting = true;
        failure
    }

    /// The failure of a call that panicked.
    pub(crate) fn panicked(panic: &CaughtPanic) -> Self {
        Self::new(format!("panicked: {panic}"))
    }

    /// The failure of a call that was dropped after `limit`.
    pub(crate) fn timed_out(limit: Duration) -> Self {
        let mut failure = Self::new(format!("not done within {limit:?}"));
        failure.class.duration = FailureDuration::Transient;
        failure
    }

    /// The same failure, without a retry: the next reconcile comes when something changes.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.class.terminal = true;
        self.class.waiting = false;
        self
    }

    /// The same failure, with a retry after `delay` at the earliest. Backoff may make it later. For a failure that needs a
    /// person this replaces the slow backoff. A terminal failure is retried after all, and one that [waits](Self::waiting) becomes a failure.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.class.retry_after = Some(delay);
        self.class.terminal = false;
        self.class.waiting = false;
        if self.class.duration == FailureDuration::Person {
            self.class.duration = FailureDuration::Unknown;
        }
        self
    }

    /// Whether the key is not retried.
    pub fn is_terminal(&self) -> bool {
        self.class.terminal
    }

    /// Whether the call only waits for a change: see [`waiting`](Self::waiting).
    pub fn is_waiting(&self) -> bool {
        self.class.waiting
    }

    /// What follows a call that only waits.
    pub(crate) fn next_call(&self) -> Action {
        match self.class.undecodable {
            true => Action::wait()
                .within(UNDECODABLE_RECHECK)
                .priority(Priority::Low),
            false => Action::wait(),
        }
    }

    /// The error that was converted.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// The same failure with only its text: the text is made once, and the error is dropped.
    pub(crate) fn into_text(self) -> Self {
        Self {
            error: self.to_string().into(),
            class: FailureClass {
                hidden: None,
                ..self.class
            },
        }
    }

    /// The same failure with only its text, followed by that of another one.
    pub(crate) fn and_also(self, other: &Self) -> Self {
        Self {
            error: format!("{self}; also: {other}").into(),
            ..self.into_text()
        }
    }

    /// Whether the request failed because another client had changed the object.
    pub(crate) fn is_conflict(&self) -> bool {
        self.class.conflict
    }

    /// Whether the reconciled object is gone. Then nothing went wrong, and the event of its deletion is still to come.
    pub(crate) fn is_gone(&self) -> bool {
        self.class.gone
    }

    /// Whether the cause is that this object is being deleted. Nothing went wrong then.
    pub(crate) fn is_deletion_of(&self, kind: &str, key: &ObjectKey) -> bool {
        let deleting = self.class.deleting.as_deref();
        deleting.is_some_and(|deleting| deleting.0 == kind && deleting.1 == *key)
    }

    /// Whether only a person can end the failure, so that the key is retried slowly.
    pub(crate) fn needs_person(&self) -> bool {
        self.class.duration == FailureDuration::Person
    }

    /// Whether the failure often ends by itself within a short time.
    pub(crate) fn is_transient(&self) -> bool {
        !self.class.terminal
            && matches!(
                self.class.duration,
                FailureDuration::Transient | FailureDuration::Unreachable
            )
    }

    /// Whether no request reaches the API server.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.class.duration == FailureDuration::Unreachable
    }

    /// The lower bound of the delay before the retry.
    pub(crate) fn minimum_delay(&self) -> Duration {
        self.class.retry_after.unwrap_or_default()
    }

    /// Not generic, so that it is compiled once and not per error type.
    fn of(error: Box<dyn StdError + Send + Sync>) -> Self {
        let class = FailureClass::of(chain(&*error));
        Self { error, class }
    }
}

/// The error and its causes.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> + Clone {
    std::iter::successors(Some(error), |one| (*one).source())
}

impl<E> From<E> for Failure
where
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    fn from(error: E) -> Self {
        // The class is read before the conversion to a box, which hides the type of the outermost error.
        #[cfg(feature = "anyhow")]
        if let Some(of_anyhow) = (&error as &dyn std::any::Any).downcast_ref::<anyhow::Error>() {
            let class = FailureClass::of(of_anyhow.chain());
            return Self {
                error: error.into(),
                class,
            };
        }
        Self::of(error.into())
    }
}

/// The error and its causes in one line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Many errors repeat their cause in their own text.
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = error.source();
        }
        if let Some((message, instead)) = self.class.hidden.as_deref() {
            text = text.replace(message, instead);
        }
        f.write_str(&text.replace('\n', " "))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("error", &self.error)
            .field("terminal", &self.class.terminal)
            .field("waiting", &self.class.waiting)
            .field("retry_after", &self.class.retry_after)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::{
        client,
        controller::Error,
        resource::{
            ApiResource, NotReady, ObjectKey, Readiness, Status, StatusCause, StatusDetails,
            Undecodable,
        },
    };

    #[derive(Debug, thiserror::Error)]
    #[error("render the page")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn the_text_is_the_whole_chain_in_one_line() {
        let cause = "x".parse::<u8>().unwrap_err();
        assert_eq!(
            Failure::from(Outer(cause)).to_string(),
            "render the page: invalid digit found in string"
        );
    }

    fn refused(code: u16, reason: &str, message: &str, kind: &str) -> client::Error {
        let cause = StatusCause {
            reason: "FieldValueInvalid".into(),
            message: message.into(),
            field: "data[a]".into(),
        };
        let status = Status {
            reason: reason.into(),
            details: Some(StatusDetails {
                kind: kind.into(),
                causes: vec![cause],
                ..StatusDetails::default()
            }),
            ..Status::from_code(code, message)
        };
        client::Error::api("apply", format!("{kind} default/a"), status)
    }

    #[derive(Debug, thiserror::Error)]
    #[error("build the site")]
    struct Wrapped(#[source] client::Error);

    #[test]
    fn a_refused_request_is_recognized_among_the_causes_and_needs_a_person() {
        for (code, reason) in [(403, "Forbidden"), (422, "Invalid")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(failure.needs_person() && !failure.is_transient(), "{code}");
            assert!(
                !failure.retry_after(Duration::ZERO).needs_person(),
                "{code}"
            );
        }
        for (code, reason) in [(409, "Conflict"), (429, "TooManyRequests"), (503, "")] {
            let failure = Failure::from(Wrapped(refused(code, reason, "no", "ConfigMap")));
            assert!(!failure.needs_person() && failure.is_transient(), "{code}");
        }
        assert!(!Failure::new("x").is_transient() && !Failure::new("x").needs_person());
    }

    #[test]
    fn texts_and_boxed_errors_are_converted() {
        let text = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(text((|| Err("no page")?)()), "no page");
        assert_eq!(text((|| Err("no page".to_owned())?)()), "no page");
        let boxed = || -> std::result::Result<(), Box<dyn StdError + Send + Sync>> {
            Err(refused(409, "Conflict", "no", "ConfigMap"))?
        };
        let failure = (|| -> Result<()> { Ok(boxed()?) })().unwrap_err();
        assert!(failure.is_conflict() && failure.is_transient());
    }

    #[derive(Debug, thiserror::Error)]
    #[error("build the site")]
    struct InABox(#[source] Box<client::Error>);

    #[derive(Debug, thiserror::Error)]
    #[error("build the site")]
    struct Shared(#[source] std::sync::Arc<Error>);

    #[test]
    fn an_error_is_recognized_in_a_box_and_in_an_arc() {
        let forbidden = || refused(403, "Forbidden", "no", "ConfigMap");
        let shared = Shared(Error::from(forbidden()).into());
        for failure in [
            Failure::from(InABox(forbidden().into())),
            Failure::from(shared),
            Failure::from(Box::new(forbidden())),
        ] {
            assert!(failure.needs_person(), "{failure}");
        }
    }

    #[cfg(feature = "anyhow")]
    #[test]
    fn an_anyhow_error_keeps_its_class_and_its_causes() {
        use anyhow::Context as _;

        fn plain(code: u16, reason: &str) -> anyhow::Result<()> {
            Err(refused(code, reason, "no", "ConfigMap"))?
        }
        fn nested(code: u16, reason: &str) -> anyhow::Result<()> {
            plain(code, reason).context("render").context("build")
        }
        let of = |error: anyhow::Result<()>| (|| -> Result<()> { Ok(error?) })().unwrap_err();
        for error in [plain, nested] {
            assert!(of(error(403, "Forbidden")).needs_person());
            assert!(of(error(409, "Conflict")).is_conflict());
        }
        assert_eq!(
            of(nested(409, "Conflict")).to_string(),
            "build: render: apply ConfigMap default/a: conflict: no"
        );
        let asked = Status {
            code: 429,
            details: Some(StatusDetails {
                retry_after_seconds: 7,
                ..StatusDetails::default()
            }),
            ..Status::default()
        };
        let asked = client::Error::api("patch", "Deployment default/web", asked);
        let asked = Err(asked).context("scale");
        assert_eq!(of(asked).minimum_delay(), Duration::from_secs(7));
        // An error that only hides another one, and a text, are converted, too.
        assert_eq!(of(Err(anyhow::anyhow!("no page"))).to_string(), "no page");
    }

    #[test]
    fn a_child_that_belongs_to_others_needs_a_person() {
        let child = || ObjectKey::namespaced("default", "page");
        let foreign = Error::NotAdopted {
            verb: "apply",
            kind: "ConfigMap".into(),
            child: child(),
            owner: "Website default/web".into(),
            adopt: "`cx.adopt(&object)`",
        };
        let owned = Error::OwnedByAnother {
            verb: "apply",
            kind: "ConfigMap".into(),
            child: child(),
            owner: "Website zoo".into(),
        };
        for error in [foreign, owned] {
            let failure = Failure::from(error);
            assert!(
                failure.needs_person() && !failure.is_transient(),
                "{failure}"
            );
        }
    }

    #[test]
    fn an_object_that_does_not_decode_is_waited_for_and_looked_at_again() {
        let object = Undecodable {
            resource: ApiResource::of::<ConfigMap>(),
            key: ObjectKey::namespaced("default", "page"),
            uid: None,
            resource_version: None,
            labels: BTreeMap::new(),
            owner_references: Vec::new(),
            is_deleting: false,
            reason: "data: expected a map, found a list".into(),
        };
        let failure = Failure::from(Error::Undecodable(Arc::new(object))).into_text();
        assert!(failure.is_waiting() && !failure.is_terminal());
        assert_eq!(failure.next_call().delay(), Some(UNDECODABLE_RECHECK));
        assert_eq!(Failure::waiting("for a Secret").next_call().delay(), None);
        assert!(!failure.retry_after(Duration::ZERO).is_waiting());
    }

    #[test]
    fn a_child_that_is_not_ready_waits_and_one_that_failed_is_not_retried() {
        let child = |readiness| NotReady {
            kind: "Job".into(),
            key: ObjectKey::namespaced("default", "migrate"),
            readiness,
        };
        let starts = || child(Readiness::NotReady("it has not started".into()));
        for failure in [
            Failure::from(starts()),
            Failure::from(Box::new(starts())),
            Failure::waiting("for a Secret"),
        ] {
            assert!(failure.is_waiting() && !failure.is_terminal(), "{failure}");
            assert!(failure.into_text().is_waiting());
        }
        let failed = Failure::from(child(Readiness::Failed("too late".into())));
        assert!(failed.is_terminal() && !failed.is_waiting());
        assert_eq!(
            failed.to_string(),
            "Job default/migrate has failed: too late"
        );
        // The caller has the last word.
        let terminal = Failure::from(starts()).terminal();
        assert!(terminal.is_terminal() && !terminal.is_waiting());
        let retried = terminal.retry_after(Duration::from_secs(1));
        assert!(!retried.is_terminal() && !retried.is_waiting());
        assert!(
            !Failure::waiting("x")
                .retry_after(Duration::ZERO)
                .is_waiting()
        );
    }

    #[test]
    fn a_status_that_the_schema_refuses_is_not_retried() {
        let failure = Failure::from(Error::StatusRefused {
            kind: "Website".into(),
            key: ObjectKey::namespaced("default", "web"),
            fields: "status.phase".into(),
            source: Box::new(refused(
                500,
                "",
                "failed to create typed patch object",
                "Website",
            )),
        });
        assert!(failure.is_terminal() && failure.needs_person() && !failure.is_transient());
        let text = failure.to_string();
        assert_eq!(text.matches("failed to create").count(), 1, "{text}");
    }

    #[test]
    fn the_server_message_about_a_secret_is_not_shown() {
        let message = "Secret \"a\" is invalid: data[a]: Invalid value: \"hunter2\"";
        let text = Failure::from(Wrapped(refused(422, "Invalid", message, "Secret"))).into_text();
        assert_eq!(
            text.to_string(),
            "build the site: apply Secret default/a: Invalid, data[a] FieldValueInvalid (a message about a Secret is not shown)"
        );
        let text = Failure::from(refused(422, "Invalid", message, "ConfigMap")).to_string();
        assert!(text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_message_about_a_secret_is_not_shown_if_the_answer_names_no_kind() {
        let denied = Status::from_code(400, "admission webhook denied: value \"hunter2\"");
        for target in ["Secret default/a", "secrets in default"] {
            let error = client::Error::api("apply", target.to_owned(), denied.clone());
            let text = Failure::from(error).to_string();
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn the_delay_that_the_server_asked_for_is_kept() {
        let status = Status {
            code: 429,
            details: Some(StatusDetails {
                retry_after_seconds: 7,
                ..StatusDetails::default()
            }),
            ..Status::default()
        };
        let error = || client::Error::api("patch", "Deployment default/web", status.clone());
        let seven = Duration::from_secs(7);
        assert_eq!(Failure::from(error()).minimum_delay(), seven);
        assert_eq!(Failure::from(Error::from(error())).minimum_delay(), seven);
        assert_eq!(Failure::new("x").minimum_delay(), Duration::ZERO);
    }
}
