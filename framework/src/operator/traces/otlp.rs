use std::{env, time::Duration};

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets};

use super::{TraceLayer, client::Client};

/// The time limit for unsent spans after the operator has stopped.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// Sends spans. [`end`](Self::end) sends the last ones.
pub(in crate::operator) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts sending spans if the environment names a collector. Must be called within the runtime that will run the
    /// connections.
    ///
    /// # Errors
    /// The problem with the settings in the environment.
    pub(in crate::operator) fn start(operator: &str) -> Result<Option<(Self, TraceLayer)>, String> {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let disabled = variable("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let Some(endpoint) = endpoint.filter(|_| !disabled) else {
            return Ok(None);
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(endpoint))
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder();
        let resource = match variable("OTEL_SERVICE_NAME") {
            Some(_) => resource,
            None => resource.with_service_name(operator.to_owned()),
        };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        let filter = Targets::new()
            .with_default(LevelFilter::INFO)
            .with_target("pilothouse", LevelFilter::DEBUG);
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("pilothouse"))
            .with_location(false)
            .with_threads(false)
            .with_filter(filter)
            .boxed();
        Ok(Some((Self { provider }, layer)))
    }

    /// Sends the last spans, for at most one second.
    pub(in crate::operator) async fn end(self) {
        let last = move || self.provider.shutdown_with_timeout(LAST_SPANS);
        match tokio::task::spawn_blocking(last).await {
            Ok(Ok(())) => {}
            // The client has already logged the problem with the collector.
            Ok(Err(error)) => tracing::debug!("sending the last spans failed: {error}"),
            Err(error) => tracing::error!("sending the last spans failed: {error}"),
        }
    }
}
