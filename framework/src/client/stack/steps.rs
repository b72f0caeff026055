use tower::{Layer, Service};

use super::{
    AnswerLayer, AuthLayer, BackPressureLayer, BaseLayer, CountLayer, FenceLayer, GzipLayer,
    ImpersonateLayer, MeasureLayer, RateLimitLayer, RetryLayer, TotalLayer, TraceLayer,
    UserAgentLayer, WarningsLayer,
};
use crate::client::{Body, BoxError, transport::Pool};
use http::{Request, Response};

/// The steps of a client's stack, made from its configuration, in the order in which a request
/// passes them.
///
/// [`request`](Self::request) puts them together as they are by default. Replace one by setting its
/// field to another value of its type; replace it by another type, add one or leave one out by
/// putting them together yourself, as shown [above](super).
#[derive(Clone)]
#[non_exhaustive]
pub struct Steps {
    /// Bounds a request as a whole.
    pub total: TotalLayer,
    /// One span per request.
    pub trace: TraceLayer,
    /// Duration and size of each request.
    pub measure: MeasureLayer,
    /// Sends again what may be sent again. What follows happens once per attempt.
    pub retry: RetryLayer,
    /// Counts the attempts.
    pub count: CountLayer,
    /// Waits when the server said that there is too much.
    pub back_pressure: BackPressureLayer,
    /// Waits where a limit was asked for.
    pub rate_limit: RateLimitLayer,
    /// Sends nothing while the client may not send.
    pub fence: FenceLayer,
    /// Says who the client is.
    pub auth: AuthLayer,
    /// Acts as somebody else.
    pub impersonate: ImpersonateLayer,
    /// Says which program asks.
    pub user_agent: UserAgentLayer,
    /// Tells the server's warnings.
    pub warnings: WarningsLayer,
    /// Puts the path of the server's address in front.
    pub base: BaseLayer,
    /// Asks for compressed answers and unpacks them.
    pub gzip: GzipLayer,
    /// Bounds the waits for the head of an answer and for its pieces.
    pub answer: AnswerLayer,
    /// The connections.
    pub pool: Pool,
}

impl Steps {
    /// All of them: what a client without changes sends its requests through.
    pub fn request(
        &self,
    ) -> impl Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + Sync
    + use<> {
        (&self.total, &self.trace, &self.measure, &self.retry).layer(self.attempt())
    }

    /// Those of one attempt: from [`count`](Self::count) inwards.
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
            &self.answer,
        )
            .layer(self.pool.clone())
    }
}
