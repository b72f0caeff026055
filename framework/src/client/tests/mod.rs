//! Tests of the client against a small server of their own: over TLS, and in memory with a paused clock.

mod bursts;
mod credentials;
mod deadlines;
mod discovery;
mod discovery_cache;
mod encodings;
mod fences_and_own_connections;
mod futures;
mod guard;
mod gzip;
#[cfg(target_os = "linux")]
mod http1_silence;
mod kube_rs_defects;
mod lists;
mod log_recorder;
mod memory;
mod missing_rules;
mod pool;
mod pressure;
mod proxy;
mod relay;
mod requests;
mod scripted_proxy;
mod secrets;
mod server;
mod slow_readers;
mod spans;
mod stack;
mod trust;
mod upgrade;
mod verbs;
mod waits;
mod wake_ups;
mod wire;
