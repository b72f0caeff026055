//! OpenTelemetry traces: the spans of reconciles and of their requests, sent to a collector over OTLP.
//!
//! Spans are sent to the collector of the standard variables, as protobuf over HTTP. Nothing is sent unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set, because an operator without a
//! collector must not try to reach one. A build without the feature `otel` sends no spans (`none.rs`).

#[cfg(feature = "otel")]
mod client;
#[cfg(not(feature = "otel"))]
mod none;
#[cfg(feature = "otel")]
mod otlp;

use tracing_subscriber::{Layer, Registry};

#[cfg(not(feature = "otel"))]
pub(super) use none::Traces;
#[cfg(feature = "otel")]
pub(super) use otlp::Traces;

/// The layer that turns spans of `tracing` into spans of OpenTelemetry.
pub(super) type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;
