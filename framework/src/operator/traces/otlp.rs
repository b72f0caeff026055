use std::{env, time::Duration};

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets};

use super::{TraceLayer, client::Client};

/// How long spans that are unsent may take when the operator has stopped.
const LAST_SPANS: Duration = Duration::from_secs(1);

/// What sends spans. [`end`](Self::end) sends those that are left.
pub(in crate::operator) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Sends spans from now on, if the environment says where to. Called within the runtime that carries them.
    ///
    /// # Errors
    /// The environment's settings are wrong.
    pub(in crate::operator) fn start(operator: &str) -> Result<Option<(Self, TraceLayer)>, String> {
        let said = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| said("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let disabled = said("OTEL_SDK_DISABLED")
            .is_some_and(|said| said.eq_ignore_ascii_case("true"))
            || said("OTEL_TRACES_EXPORTER").is_some_and(|said| said == "none");
        let Some(endpoint) = endpoint.filter(|_| !disabled) else {
            return Ok(None);
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(endpoint))
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder();
        let resource = match said("OTEL_SERVICE_NAME") {
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

    /// Sends what is left, for a second at most.
    pub(in crate::operator) async fn end(self) {
        let last = move || self.provider.shutdown_with_timeout(LAST_SPANS);
        match tokio::task::spawn_blocking(last).await {
            Ok(Ok(())) => {}
            // The client has told what is wrong with the collector.
            Ok(Err(error)) => tracing::debug!("the last spans were not sent: {error}"),
            Err(error) => tracing::error!("the last spans were not sent: {error}"),
        }
    }
}
