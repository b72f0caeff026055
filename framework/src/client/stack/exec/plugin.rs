use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{
    FutureExt,
    future::{Shared as SharedFuture, WeakShared},
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{Credential, info::Cluster, run::Run};
use crate::{
    backoff::Growth,
    client::{
        ConfigError,
        config::{Config, ExecConfig},
        transport::CurrentTls,
    },
    metrics::ExecMetrics,
};

/// After a renewal ahead of time, the next renewal comes no sooner than this. The same holds after a renewal because
/// the server refused the credentials.
const PAUSE: Duration = Duration::from_secs(10);
/// After a failed run, the next run comes no sooner than this.
const PAUSES: Growth = Growth::doubling(Duration::from_secs(1), Duration::from_secs(30));

/// A credential plugin and its last credentials.
///
/// One run serves all requests that need credentials. It continues as long as one of them waits. While the credentials
/// are valid, no request waits: a task renews them shortly before their end. The task ends with the plugin.
///
/// After a failed run, every request fails for a while with the same error, so that a broken plugin does not run for
/// each of them.
pub(in crate::client::stack) struct Plugin {
    shared: Arc<PluginInner>,
    renewal: Mutex<Renewal>,
}

#[derive(Default)]
struct Renewal {
    task: Option<AbortOnDropHandle<()>>,
    not_before: Option<Instant>,
}

struct PluginInner {
    run: Run,
    tls: Option<Arc<CurrentTls>>,
    metrics: Option<ExecMetrics>,
    state: Mutex<PluginState>,
}

#[derive(Default)]
struct PluginState {
    known: Option<Arc<Credential>>,
    running: Option<WeakShared<Running>>,
    failed: Option<FailedRun>,
    /// Until then, a refusal by the server starts no run.
    refused_until: Option<Instant>,
}

/// The last run, if it failed.
struct FailedRun {
    error: ConfigError,
    /// The failed runs in a row before this one.
    earlier: u32,
    until: Instant,
}

type Running = BoxFuture<'static, Result<Arc<Credential>, ConfigError>>;

impl Plugin {
    /// The plugin `exec` of `config`. `tls` presents the certificates that it prints.
    pub(in crate::client::stack) fn new(
        exec: &ExecConfig,
        config: &Config,
        tls: Option<Arc<CurrentTls>>,
        metrics: Option<ExecMetrics>,
    ) -> Self {
        let cluster = Cluster::new(config, exec);
        Self {
            shared: Arc::new(PluginInner {
                run: Run::new(exec.clone(), cluster, &config.credentials_origin),
                tls,
                metrics,
                state: Mutex::default(),
            }),
            renewal: Mutex::default(),
        }
    }

    /// Returns credentials that are valid now.
    ///
    /// # Errors
    /// The plugin fails, or failed a short time ago, and there are no valid credentials.
    pub(in crate::client::stack) async fn current(&self) -> Result<Arc<Credential>, ConfigError> {
        let now = Timestamp::now();
        let running = {
            let mut state = self.shared.state.lock();
            match &state.known {
                Some(known) if !known.is_expired(now) => {
                    let known = known.clone();
                    if known.wants_renewal(now) {
                        self.renew_ahead(&mut state);
                    }
                    return Ok(known);
                }
                _ => match state.recent_failure() {
                    Some(error) => return Err(error),
                    None => self.shared.running(&mut state),
                },
            }
        };
        running.await
    }

    /// Returns credentials that are newer than `refused`, if there are any. If the server refuses one credential after
    /// another, the plugin does not run for each request.
    pub(in crate::client::stack) async fn newer(
        &self,
        refused: &Arc<Credential>,
    ) -> Result<Option<Arc<Credential>>, ConfigError> {
        let running = {
            let mut state = self.shared.state.lock();
            match &state.known {
                // Another request was refused before and has renewed the credentials.
                Some(known) if !Arc::ptr_eq(known, refused) => {
                    std::future::ready(Ok(known.clone())).left_future()
                }
                _ => {
                    let now = Instant::now();
                    let too_soon = state.refused_until.is_some_and(|time| now < time)
                        || state.recent_failure().is_some();
                    let is_running = state.running().is_some();
                    if too_soon && !is_running {
                        return Ok(None);
                    }
                    state.refused_until = Some(now + PAUSE);
                    self.shared.running(&mut state).right_future()
                }
            }
        };
        let newer = running.await?;
        Ok((!newer.is_same_as(refused)).then_some(newer))
    }

    fn renew_ahead(&self, state: &mut PluginState) {
        let now = Instant::now();
        let mut renewal = self.renewal.lock();
        if renewal.not_before.is_some_and(|time| now < time) {
            return;
        }
        renewal.not_before = Some(now + PAUSE);
        let busy = renewal
            .task
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if busy {
            return;
        }
        let running = self.shared.running(state);
        let renewed = async move {
            if let Err(error) = running.await {
                tracing::warn!("{error}: going on with the credentials printed before");
            }
        };
        let task = tokio::spawn(renewed.boxed());
        renewal.task = Some(AbortOnDropHandle::new(task));
    }
}

impl PluginInner {
    /// The current run, or a new one.
    fn running(self: &Arc<Self>, state: &mut PluginState) -> SharedFuture<Running> {
        state.running().unwrap_or_else(|| {
            let shared = self.clone();
            let running = async move {
                let outcome = shared.run.run(shared.metrics.as_ref()).await;
                shared.keep(outcome)
            };
            let running = running.boxed().shared();
            state.running = running.downgrade();
            running
        })
    }

    fn keep(
        &self,
        outcome: Result<Credential, ConfigError>,
    ) -> Result<Arc<Credential>, ConfigError> {
        let mut state = self.state.lock();
        state.running = None;
        let new = match outcome {
            Ok(new) => Arc::new(new),
            Err(error) => {
                state.fail(&error);
                return Err(error);
            }
        };
        state.failed = None;
        if !new.has_same_identity_as(state.known.as_deref()) {
            if let Some(tls) = &self.tls {
                tls.show(new.identity.clone());
            }
            if let Some(metrics) = &self.metrics {
                let old = state.known.as_ref().and_then(|known| known.validity());
                if let Some(old) = old {
                    metrics.rotated(old.start);
                }
                metrics.valid_until(self.id(), new.validity().map(|now| now.end));
            }
        }
        state.known = Some(new.clone());
        Ok(new)
    }

    /// Distinguishes the plugins of one process.
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Drop for PluginInner {
    fn drop(&mut self) {
        if let Some(metrics) = &self.metrics {
            metrics.valid_until(self.id(), None);
        }
    }
}

impl PluginState {
    fn running(&self) -> Option<SharedFuture<Running>> {
        self.running.as_ref().and_then(WeakShared::upgrade)
    }

    /// The error of the last run, if it failed a short time ago and there are no credentials.
    fn recent_failure(&self) -> Option<ConfigError> {
        let failed = self.failed.as_ref();
        let failed = failed.filter(|failed| Instant::now() < failed.until)?;
        self.running().is_none().then(|| failed.error.clone())
    }

    fn fail(&mut self, error: &ConfigError) {
        let before = self.failed.as_ref();
        let earlier = before.map_or(0, |failed| failed.earlier.saturating_add(1));
        self.failed = Some(FailedRun {
            error: error.clone(),
            earlier,
            until: Instant::now() + PAUSES.least(earlier),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::config::{ExecVersion, InteractiveMode};

    fn printed(token: &str, expires: Timestamp) -> String {
        format!(
            r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{token}","expirationTimestamp":"{expires}"}}}}"#
        )
    }

    #[tokio::test]
    async fn credentials_are_renewed_before_their_end_and_no_request_waits() {
        let hour = jiff::SignedDuration::from_hours(1);
        let now = Timestamp::now();
        let exec = ExecConfig::new("sh")
            .args(["-c", "printf '%s' \"$WORDS\""])
            .env("WORDS", printed("new", now + hour))
            .interactive_mode(InteractiveMode::Never);
        let config = Config::new("https://host".parse().unwrap());
        let plugin = Plugin::new(&exec, &config, None, None);
        let soon = now + jiff::SignedDuration::from_secs(100);
        let old = Credential::parse(
            printed("old", soon).as_bytes(),
            ExecVersion::V1,
            "",
            now - hour,
        );
        plugin.shared.state.lock().known = Some(Arc::new(old.unwrap()));

        let token = async || plugin.current().await.unwrap().header.clone().unwrap();
        assert_eq!(token().await, "Bearer old");
        while token().await != "Bearer new" {
            tokio::task::yield_now().await;
        }
    }
}
