use tower::{Layer, Service};

use super::{
    AuthLayer, BackPressureLayer, BaseLayer, CountLayer, FenceLayer, GzipLayer, ImpersonateLayer,
    MeasureLayer, RateLimitLayer, ResponseDeadlineLayer, RetryLayer, TotalLayer, TraceLayer,
    UserAgentLayer, WarningsLayer,
};
use crate::client::{Body, BoxError, transport::Pool};
use http::{Request, Response};

/// The steps of a client's stack, made from its configuration, in the order in which a request passes them.
///
/// [`request`](Self::request) puts them together in the default order. To change a step, set its field to another value
/// of its type. To use another type, or to add or leave out a step, put the steps together yourself, as in the example
/// [above](super).
#[derive(Clone)]
#[non_exhaustive]
pub struct Steps {
    /// Limits the duration of a request as a whole.
    pub total: TotalLayer,
    /// One span per request.
    pub trace: TraceLayer,
    /// Duration and size of each request.
    pub measure: MeasureLayer,
    /// Repeats a request where that is safe. The steps below run once per attempt.
    pub retry: RetryLayer,
    /// Counts the attempts.
    pub count: CountLayer,
    /// Waits after the server answered 429.
    pub back_pressure: BackPressureLayer,
    /// Waits for a token, if a limit is configured.
    pub rate_limit: RateLimitLayer,
    /// Sends nothing while the fence is closed.
    pub fence: FenceLayer,
    /// Authenticates the client.
    pub auth: AuthLayer,
    /// Sends the request as another user.
    pub impersonate: ImpersonateLayer,
    /// Names the program.
    pub user_agent: UserAgentLayer,
    /// Reports the server's warnings.
    pub warnings: WarningsLayer,
    /// Puts the path of the server's address in front.
    pub base: BaseLayer,
    /// Requests compressed answers and decompresses them.
    pub gzip: GzipLayer,
    /// Limits the waits for the head of a response and for its pieces.
    pub response_deadline: ResponseDeadlineLayer,
    /// The connections.
    pub pool: Pool,
}

impl Steps {
    /// All steps in the default order.
    pub fn request(
        &self,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + use<> {
        (&self.total, &self.trace, &self.measure, &self.retry).layer(self.attempt())
    }

    /// The steps of one attempt: from [`count`](Self::count) inwards.
    pub fn attempt(
        &self,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + use<> {
        (
            &self.count,
            &self.back_pressure,
            &self.rate_limit,
            &self.fence,
            &self.auth,
            &self.impersonate,
            &self.user_agent,
            &self.warnings,
            &self.base,
            &self.gzip,
            &self.response_deadline,
        )
            .layer(self.pool.clone())
    }
}
