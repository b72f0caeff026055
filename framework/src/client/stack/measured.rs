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
    and_then::{AndThen, OnOutcome, Outcome},
    counted::{Attempts, HostMetrics, RequestCounter},
};
use crate::{
    client::{Body, BoxError, request::RequestClass},
    metrics::ClientMetrics,
};

/// Measures each request as a whole, with all attempts and the body of the answer:
/// `rest_client_request_duration_seconds`, `rest_client_request_size_bytes` and `rest_client_response_size_bytes`. Does
/// not measure watches, as client-go.
#[derive(Clone, Debug)]
pub struct MeasureLayer {
    counter: RequestCounter,
}

impl MeasureLayer {
    /// Measures requests to `host` (`name:port`) in `metrics`. `None` measures nothing.
    pub fn new(metrics: Option<ClientMetrics>, host: &str) -> Self {
        Self {
            counter: RequestCounter::new(metrics, host),
        }
    }
}

impl<S> Layer<S> for MeasureLayer {
    type Service = Measured<S>;

    fn layer(&self, inner: S) -> Measured<S> {
        Measured {
            inner,
            counter: self.counter.clone(),
        }
    }
}

/// The service of [`MeasureLayer`].
#[derive(Clone, Debug)]
pub struct Measured<S> {
    inner: S,
    counter: RequestCounter,
}

impl<S> Service<Request<Body>> for Measured<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = AndThen<S::Future, Measure>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let begun = self.counter.series().map(|series| {
            Attempts::of(request.extensions_mut());
            MeasuredRequest {
                series: series.clone(),
                method: request.method().clone(),
                start: Instant::now(),
            }
        });
        let class = request.extensions().get::<RequestClass>();
        let begun = begun.filter(|_| class != Some(&RequestClass::Watch));
        if let Some(begun) = &begun
            && let Some(size @ 1..) = request.body().size_hint().exact()
        {
            let HostMetrics { metrics, host } = &*begun.series;
            metrics.request_size(begun.method.as_str(), host, size);
        }
        AndThen::new(
            self.inner.call(request),
            Measure(begun.map(DurationRecorder)),
        )
    }
}

/// A request that has begun.
struct MeasuredRequest {
    series: Arc<HostMetrics>,
    method: Method,
    start: Instant,
}

/// Records the duration when it is dropped, whatever the outcome.
struct DurationRecorder(MeasuredRequest);

impl Drop for DurationRecorder {
    fn drop(&mut self) {
        let MeasuredRequest {
            series,
            method,
            start,
        } = &self.0;
        let HostMetrics { metrics, host } = &**series;
        metrics.duration(method.as_str(), host, start.elapsed());
    }
}

impl DurationRecorder {
    /// Records that the answer was read to its end and had this many bytes.
    fn read(self, bytes: u64) {
        let MeasuredRequest { series, method, .. } = &self.0;
        let HostMetrics { metrics, host } = &**series;
        metrics.response_size(method.as_str(), host, bytes);
    }
}

pub struct Measure(Option<DurationRecorder>);

impl OnOutcome for Measure {
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

/// The body of an answer, measured until its end.
struct MeasuredBody {
    body: Body,
    bytes: u64,
    running: Option<DurationRecorder>,
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
    /// Records the end of the body.
    fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.read(self.bytes);
        }
    }
}

impl Drop for MeasuredBody {
    fn drop(&mut self) {
        // The end is already known, so the reader need not poll again.
        if self.body.is_end_stream() {
            self.end();
        }
    }
}
