use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::{
    after::{After, Outcome, Then},
    counted::{Attempts, Series, Tally},
};
use crate::{
    client::{Body, BoxError, class::Class},
    metrics::ClientMetrics,
};

/// Measures each request as a whole, all attempts and the answer's body included:
/// `rest_client_request_duration_seconds`, `rest_client_request_size_bytes` and
/// `rest_client_response_size_bytes`. Watches are not measured, as with client-go.
#[derive(Clone, Debug)]
pub struct MeasureLayer {
    tally: Tally,
}

impl MeasureLayer {
    /// Measures into `metrics` what is sent to `host`, which is `name:port`; `None` measures
    /// nothing.
    pub fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        Self {
            tally: Tally::new(metrics, host),
        }
    }
}

impl<S> Layer<S> for MeasureLayer {
    type Service = Measured<S>;

    fn layer(&self, inner: S) -> Measured<S> {
        Measured {
            inner,
            tally: self.tally.clone(),
        }
    }
}

/// The service of [`MeasureLayer`].
#[derive(Clone, Debug)]
pub struct Measured<S> {
    inner: S,
    tally: Tally,
}

impl<S> Service<Request<Body>> for Measured<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = After<S::Future, Measure>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let begun = self.tally.series().map(|series| {
            Attempts::of(request.extensions_mut());
            Begun {
                series: series.clone(),
                method: request.method().clone(),
                start: Instant::now(),
            }
        });
        let class = request.extensions().get::<Class>();
        let begun = begun.filter(|_| class != Some(&Class::Watch));
        if let Some(begun) = &begun
            && let Some(size @ 1..) = request.body().size_hint().exact()
        {
            let Series { metrics, host } = &*begun.series;
            metrics.request_size(begun.method.as_str(), host, size);
        }
        After::new(self.inner.call(request), Measure(begun.map(Running)))
    }
}

/// A request under way.
struct Begun {
    series: Arc<Series>,
    method: Method,
    start: Instant,
}

/// Records the time when it is dropped: the request is over, in whichever way.
struct Running(Begun);

impl Drop for Running {
    fn drop(&mut self) {
        let Begun {
            series,
            method,
            start,
        } = &self.0;
        let Series { metrics, host } = &**series;
        metrics.duration(method.as_str(), host, start.elapsed());
    }
}

impl Running {
    /// The answer was read to its end, and was so long.
    fn read(self, bytes: u64) {
        let Begun { series, method, .. } = &self.0;
        let Series { metrics, host } = &**series;
        metrics.response_size(method.as_str(), host, bytes);
    }
}

pub struct Measure(Option<Running>);

impl Then for Measure {
    fn then(self, outcome: Outcome) -> Outcome {
        let response = outcome?;
        let Some(running) = self.0 else {
            return Ok(response);
        };
        if let Some(bytes) = response.body().whole() {
            running.read(bytes.len() as u64);
            return Ok(response);
        }
        Ok(response.map(|body| {
            Body::new(MeasuredBody {
                body,
                bytes: 0,
                running: Some(running),
            })
        }))
    }
}

/// An answer's body that is measured until its end.
struct MeasuredBody {
    body: Body,
    bytes: u64,
    running: Option<Running>,
}

impl http_body::Body for MeasuredBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                if self.body.is_end_stream() {
                    self.end();
                }
            }
            Poll::Ready(None) => self.end(),
            Poll::Ready(Some(Err(_))) => self.running = None,
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl MeasuredBody {
    /// The body was read to its end.
    fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.read(self.bytes);
        }
    }
}

impl Drop for MeasuredBody {
    fn drop(&mut self) {
        // Nobody has to look for an end that is known.
        if self.body.is_end_stream() {
            self.end();
        }
    }
}
