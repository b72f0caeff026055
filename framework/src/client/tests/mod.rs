//! The client against a small server of its own: on the wire over TLS, and in memory on the paused
//! clock.

mod apart;
mod bursts;
mod credentials;
mod deadlines;
mod discovery;
mod encodings;
mod everything;
mod guard;
mod gzip;
#[cfg(target_os = "linux")]
mod http1_silence;
mod kube_rs_defects;
mod memory;
mod pool;
mod pressure;
mod proxy;
mod relay;
mod secrets;
mod server;
mod stack;
mod stand_in;
mod trust;
mod unread;
mod upgrade;
mod verbs;
mod waits;
mod wakes;
mod wire;
