//! OpenTelemetry traces: the spans of reconciles and of their requests, sent to a collector over OTLP.
//!
//! They are sent where the standard variables say, in protobuf over HTTP, and not at all unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set: an operator without a collector is not
//! to look for one. Without the feature `otel` there are none.

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

/// What makes spans of tracing's.
pub(super) type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;
