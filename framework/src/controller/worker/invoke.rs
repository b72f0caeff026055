use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::publish::{TRANSIENT, publish_failure};
use crate::{
    cache::Lister,
    client::Client,
    controller::{
        action::Action,
        builder::Reconciler,
        children::{Children, remove_orphans},
        context::{Context, Fingerprints, FirstApplies, ReadyCondition, SharedContext},
        environment::Environment,
        error::{Failure, Result},
        finalizers::{Finalizers, note_called},
        history::Ended,
        reconcilable::Reconcilable,
        sources::Sources,
        state::ControllerState,
    },
    health::catch_panic_of,
    resource::{Object, ObjectKey},
};

/// Calls the user's code for one key, with all that belongs to a call: finalizers, pruning, cleanup.
pub(crate) struct Invoker<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) finalizers: Finalizers<R::Resource>,
    children: Children<R::Resource>,
    pub(crate) shared: Arc<SharedContext<R::Resource>>,
}

/// The parts of a [`Controller`](crate::controller::Controller) that a call needs.
pub(crate) struct UserCode<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) finalizers: Finalizers<R::Resource>,
    pub(crate) children: Children<R::Resource>,
    pub(crate) sources: Sources<R::Resource>,
    pub(crate) failure_events: bool,
    pub(crate) ready_condition: bool,
}

/// How a call of the user's code ended.
pub(crate) enum Outcome {
    Done(Action),
    /// The predicate leaves the object out: only the finalizers of a former version were removed. Nothing is kept of the key.
    OnlyFinalizers,
    /// The object is gone, and `deleted` succeeded. Nothing is kept of the key.
    Gone,
    Failed(Failure),
    Panicked(Failure),
    TimedOut(Failure),
    /// The call was dropped because the object has a newer generation. The key is in the queue again.
    Outdated,
}

impl Outcome {
    /// As the debug page shows it.
    pub(super) fn for_history(&self) -> Ended {
        let failed = |how, failure: &Failure| Ended {
            how,
            is_failure: true,
            text: Some(failure.to_string()),
            again_after: None,
        };
        let ended = |how| Ended {
            how,
            is_failure: false,
            text: None,
            again_after: None,
        };
        match self {
            Self::Done(action) => Ended {
                again_after: action.delay(),
                ..ended("succeeded")
            },
            Self::OnlyFinalizers => ended("removed only its finalizers"),
            Self::Gone => ended("cleaned up after the object"),
            Self::Outdated => ended("dropped, because the object has a newer generation"),
            Self::Failed(failure) if failure.is_waiting() => Ended {
                is_failure: false,
                ..failed("waits", failure)
            },
            Self::Failed(failure) if failure.is_gone() => Ended {
                is_failure: false,
                ..failed("ended, because the object is gone", failure)
            },
            Self::Failed(failure) if failure.is_terminal() => {
                failed("failed, not retried", failure)
            }
            Self::Failed(failure) => failed("failed", failure),
            Self::Panicked(failure) => failed("panicked", failure),
            Self::TimedOut(failure) => failed("timed out", failure),
        }
    }

    /// The same outcome, whose text also tells of another failure.
    pub(super) fn and_also(self, other: Option<Failure>) -> Self {
        let Some(other) = other else {
            return self;
        };
        match self {
            Self::Failed(failure) => Self::Failed(failure.and_also(&other)),
            Self::Panicked(failure) => Self::Panicked(failure.and_also(&other)),
            Self::TimedOut(failure) => Self::TimedOut(failure.and_also(&other)),
            other @ (Self::Done(_) | Self::OnlyFinalizers | Self::Gone | Self::Outdated) => other,
        }
    }
}

impl<R: Reconciler> Invoker<R> {
    /// `own` is the cache of the reconciled kind, `client` sends the requests of the contexts, and `stop` is cancelled when
    /// the controller begins to stop.
    pub(crate) fn new(
        user: UserCode<R>,
        controller: Arc<ControllerState>,
        own: Lister<R::Resource>,
        client: Client,
        environment: Environment,
        stop: CancellationToken,
    ) -> Self {
        let ready = user.ready_condition.then(|| {
            let (kind, operator) = (&controller.resource, &environment.field_manager);
            ReadyCondition::of::<R::Resource>(kind, operator)
        });
        Self {
            shared: Arc::new(SharedContext {
                controller,
                own,
                client,
                events: environment.events,
                field_manager: environment.field_manager,
                fingerprints: Fingerprints::new(),
                detached_kinds: user.children.detached_kinds(),
                finalizers: user.finalizers.rules.clone(),
                first_applies: FirstApplies::default(),
                ready: ready.flatten(),
                failure_events: user.failure_events,
                namespaces: environment.namespaces,
                sources: user.sources,
                stop,
            }),
            reconciler: user.reconciler,
            finalizers: user.finalizers,
            children: user.children,
        }
    }

    /// Whether the caches have detached children of the object, which is gone, that this controller deletes.
    pub(super) fn has_orphans(&self, key: &ObjectKey) -> bool {
        self.children.has_orphans(&self.shared.controller, key)
    }

    /// Calls the user's code. When this returns, the call is over: no code of it runs any more.
    ///
    /// The call is dropped after `timeout`, and when `outdated` is cancelled. A blocking closure of it cannot be dropped: it is
    /// told to end, and this waits for it.
    pub(in crate::controller) async fn invoke(
        &self,
        cx: &Context<R::Resource>,
        timeout: Option<Duration>,
        outdated: Option<&CancellationToken>,
    ) -> Outcome {
        // The call is dropped inside of `catch_panic_of`, so that a panic of a destructor is caught too. An `async` block that
        // captures a future and awaits it stores it twice, so the call is pinned.
        let limited = async {
            let call = pin!(async {
                let ended = match cx.object() {
                    Some(object) => self.reconcile(object.clone(), cx).await,
                    None => {
                        let ended = Box::pin(self.deleted(cx)).await;
                        ended.map(|()| Outcome::Gone)
                    }
                };
                // The text of the error is the user's code too. It is made here, where a panic is caught.
                ended.unwrap_or_else(|failure| Outcome::Failed(failure.into_text()))
            });
            let limited = pin!(async {
                match timeout {
                    Some(limit) => tokio::time::timeout(limit, call)
                        .await
                        .unwrap_or_else(|_| Outcome::TimedOut(Failure::timed_out(limit))),
                    None => call.await,
                }
            });
            match outdated {
                Some(outdated) => {
                    let ended = outdated.run_until_cancelled(limited).await;
                    ended.unwrap_or(Outcome::Outdated)
                }
                None => limited.await,
            }
        };
        let ended = catch_panic_of(limited).await;
        let outcome = ended.unwrap_or_else(|panic| Outcome::Panicked(Failure::panicked(&panic)));
        if cx.has_blocking_work() {
            let object = cx.object();
            let cleans_up = object.is_none_or(|object| self.finalizers.cleans_up(&**object));
            Box::pin(end_blocking_work(cx, cleans_up, &outcome)).await;
        }
        outcome
    }

    /// The call for an object that exists: the finalizers, the reconcile, and the pruning; or the cleanup.
    pub(crate) async fn reconcile(
        &self,
        object: Arc<R::Resource>,
        cx: &Context<R::Resource>,
    ) -> Result<Outcome> {
        let finalizers = &self.finalizers;
        if finalizers.rules.change_nothing() {
            // The worker noted the call when the run began.
            return self
                .reconcile_and_prune(object, cx)
                .await
                .map(Outcome::Done);
        }
        let only_finalizers =
            cx.only_finalizers && !self.was_called(cx.key()) && finalizers.leave_out(&object, cx);
        if !finalizers.are_incomplete_on(&object, cx) {
            return match only_finalizers {
                true => Ok(Outcome::OnlyFinalizers),
                false => self.call(object, cx).await.map(Outcome::Done),
            };
        }
        // Boxed because it is rare: otherwise every call would copy its state through the layers around it.
        let prepared = Box::pin(finalizers.prepare(object, cx)).await?;
        if only_finalizers {
            return Ok(Outcome::OnlyFinalizers);
        }
        let action = match prepared {
            Some(object) => {
                let cx = cx.with_object(object.clone());
                self.call(object, &cx).await?
            }
            // It is gone or being deleted. The event is still to come.
            None => Action::wait(),
        };
        Ok(Outcome::Done(action))
    }

    /// The reconcile or the cleanup of an object that has its finalizers.
    async fn call(&self, object: Arc<R::Resource>, cx: &Context<R::Resource>) -> Result {
        if self.finalizers.cleans_up(&object) {
            // Boxed because it is rare.
            return Box::pin(self.finalizers.clean_up(object, &self.children, cx)).await;
        }
        note_called(cx);
        let action = self.reconcile_and_prune(object.clone(), cx).await?;
        let released = self.finalizers.release(object, &self.children, cx, action);
        Box::pin(released).await
    }

    /// Whether the user's code was called for the object.
    fn was_called(&self, key: &ObjectKey) -> bool {
        let key_states = &self.shared.controller.key_states;
        key_states.with(key, |state| state.called) == Some(true)
    }

    async fn reconcile_and_prune(
        &self,
        object: Arc<R::Resource>,
        cx: &Context<R::Resource>,
    ) -> Result {
        let deleting = object.is_deleting();
        // Boxed because the user's future may be large, and a build without optimisation copies it in each call on the way.
        let action = Box::pin(self.reconciler.reconcile(object, cx)).await?;
        if deleting {
            return Ok(action);
        }
        self.children.prune(cx, action).await
    }

    /// The call for an object that is gone. What may have to be retried comes first, because `deleted` succeeds only once.
    async fn deleted(&self, cx: &Context<R::Resource>) -> Result<()> {
        remove_orphans(&self.children, cx).await?;
        // The key may be here only because of its orphans.
        if !self.was_called(cx.key()) {
            return Ok(());
        }
        Box::pin(self.reconciler.deleted(cx.key(), cx)).await
    }
}

/// Waits until the blocking closures of a call that is over have ended. If that takes long after a timeout, the object shows it.
async fn end_blocking_work<K: Reconcilable>(cx: &Context<K>, cleans_up: bool, outcome: &Outcome) {
    let how = match outcome {
        Outcome::TimedOut(_) => "timed out",
        Outcome::Outdated => "was dropped because its object has a newer generation",
        _ => "has ended",
    };
    tracing::warn!(
        "the call {how}, but its blocking code still runs: the object is not reconciled again, and the worker takes no other \
         object, before this code has ended. Let it look at `cx.cancellation()`"
    );
    let mut ended = pin!(cx.end_blocking_work());
    if let Outcome::TimedOut(failure) = outcome {
        if timeout(TRANSIENT, ended.as_mut()).await.is_ok() {
            return;
        }
        let text = format!("{failure}, and its blocking code still runs");
        publish_failure(cx, cleans_up, &Failure::new(text)).await;
    }
    ended.await;
}
